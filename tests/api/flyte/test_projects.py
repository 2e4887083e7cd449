"""Projects, domains, version, openapi and health through FlyteAdmin's HTTP paths; and natively."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from flyteidl.admin import project_pb2
from prometheus_client import REGISTRY

from controlplane import __version__
from overrides.flyte import projects
from overrides.models import Project
from tests.support.api_client import make_project, token_for
from tests.support.flyte_messages import PROTOBUF, SNAKE, FlyteHttp, read
from tests.support.paths import ROOT

DOMAINS = [{"id": name, "name": name} for name in ("development", "staging", "production")]


@pytest.fixture
def flyte_http(db) -> FlyteHttp:
    return FlyteHttp(token_for("admin"))


def register(flyte_http: FlyteHttp, project_id: str, **more: Any) -> Any:
    return flyte_http("POST", "projects", {"project": {"id": project_id, "name": project_id, **more}})


def ids(answer: Any) -> list[str]:
    return [project["id"] for project in answer.json()["projects"]]


def test_a_project_is_registered_and_read(flyte_http):
    labels = {"values": {"team": "ml"}}
    assert register(flyte_http, "p", description="d", labels=labels).content == b"{}"
    register(flyte_http, "q")

    assert flyte_http.get("projects/p", accepts=SNAKE).json() == {
        "id": "p",
        "name": "p",
        "domains": DOMAINS,
        "description": "d",
        "labels": labels,
        "state": "ACTIVE",
        "org": "",
    }
    assert flyte_http.get("projects/q").json()["labels"] is None
    assert read(project_pb2.Projects(), flyte_http.get("projects", accepts=PROTOBUF), PROTOBUF).token == ""


def test_domains_and_version(flyte_http):
    assert flyte_http.get("domains").json() == {"domains": DOMAINS}
    version = FlyteHttp().get("version", accepts=SNAKE)
    assert (version.status_code, version.json()["control_plane_version"]["Version"]) == (200, __version__)


def test_what_breaks_on_our_side_is_told_in_flytes_words_and_counted_so(flyte_http, monkeypatch):
    def broken() -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(projects, "_domains", broken)
    before = internal_errors()

    answer = flyte_http.get("domains")

    assert (answer.status_code, answer.json()["code"]) == (500, 13)
    assert "secret" not in answer.json()["message"]
    assert internal_errors() == before + 1


def internal_errors() -> float:
    labels = {"call": "GetDomains", "transport": "http", "code": "INTERNAL"}
    return REGISTRY.get_sample_value("cp_flyte_calls_total", labels) or 0.0


def test_the_version_is_that_of_the_project():
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert document["project"]["version"] == __version__


@pytest.mark.parametrize(
    ("project", "message"),
    [
        (None, "missing project"),
        ({"id": "p"}, "missing project_name"),
        ({"name": "p"}, "missing project_id"),
        (
            {"id": "p", "name": "p", "labels": {"values": {f"k{n}": "" for n in range(17)}}},
            "labels map cannot exceed 16 entries",
        ),
        ({"id": "p", "name": "p", "labels": {"values": {"-": ""}}}, "invalid label key [-]: ["),
        ({"id": "p", "name": "p", "labels": {"values": {"k": "_"}}}, "invalid label value [_]: ["),
        (
            {"id": "P", "name": "p"},
            "invalid project id [P]: [a lowercase RFC 1123 label must consist of lower case",
        ),
        ({"id": "p" * 64, "name": "p"}, f"invalid project id [{'p' * 64}]: [must be no more than 63"),
        ({"id": "p", "name": "n" * 65}, "project_name cannot exceed 64 characters"),
        ({"id": "p", "name": "p", "description": "d" * 301}, "project_description cannot exceed 300"),
        ({"id": "p", "name": "p", "domains": DOMAINS}, "Domains are currently only set system wide."),
        ({"id": "p", "name": "p", "state": 9}, "invalid project state [9]"),
        ({"id": "p", "name": "p\x00"}, "A text has a NUL character"),
    ],
)
def test_a_project_is_refused_in_upstreams_words(flyte_http, project, message):
    answer = flyte_http("POST", "projects", {} if project is None else {"project": project})

    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert answer.json()["message"].startswith(message)
    assert not Project.objects.exists()


def test_a_taken_id_is_409(flyte_http):
    register(flyte_http, "p")

    answer = register(flyte_http, "p")

    assert (answer.status_code, answer.json()["code"]) == (409, 6)
    assert answer.json()["message"].startswith("value with matching already exists (duplicate key value")


def test_an_update_leaves_what_is_empty_and_always_writes_the_state(flyte_http):
    register(flyte_http, "p", description="d", labels={"values": {"a": "1"}})

    assert flyte_http.put("projects/p", {"id": "p", "state": 1}).content == b"{}"
    archived = flyte_http.get("projects/p").json()
    assert (archived["state"], archived["description"]) == ("ARCHIVED", "d")
    assert archived["labels"] == {"values": {"a": "1"}}

    flyte_http.put("projects/p", {"name": "q", "labels": {"values": {"b": "2"}}})
    updated = flyte_http.get("projects/p").json()
    assert (updated["state"], updated["name"]) == ("ACTIVE", "q")
    assert updated["labels"] == {"values": {"b": "2"}}

    # A read answer has domains, which are refused on input; without them it can be sent back.
    assert flyte_http.put("projects/p", updated).status_code == 400
    assert flyte_http.put("projects/p", {**updated, "domains": []}).status_code == 200


def test_what_is_not_there_is_404(flyte_http):
    for answer in (flyte_http.get("projects/nope"), flyte_http.put("projects/nope", {"name": "x"})):
        assert (answer.status_code, answer.json()["message"]) == (404, "project [nope] not found")
    assert flyte_http.get("projects/").json()["message"] == "missing project_id"


def test_lists_hide_archived_projects_unless_they_are_filtered(flyte_http):
    for name, state in (("c", 0), ("a", 1), ("b", 2)):
        register(flyte_http, name, state=state)

    assert ids(flyte_http.get("projects")) == ["b", "c"]
    assert ids(flyte_http.get("projects?filters=ne(state,7)")) == ["a", "b", "c"]
    assert ids(flyte_http.get("projects?limit=1&filters=eq(identifier,a)")) == ["a"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ("contains(project.name,lph)", ["alpha"]),
        ("not_like(name,%25a)", ["x-1"]),
        ("gt(identifier,alpha)%2Blt(identifier,x-1)", ["beta"]),
        ("gte(identifier,beta)", ["beta", "x-1"]),
        ("lte(project.identifier,alpha)", ["alpha"]),
        ("contains(name,a%25h)", ["alpha"]),
        ("eq(name,%20alpha)", ["alpha"]),
        ("value_in(name,beta)", ["beta"]),
        ("value_in(name,alpha%3Bx-1)", ["alpha", "x-1"]),
        ("value_not_in(name,alpha%3Bx-1)", ["beta"]),
        ("eq(state,0)%2Bne(name,beta)", ["alpha", "x-1"]),
        ("gt(created_at,2020-01-01T00:00:00Z)", ["alpha", "beta", "x-1"]),
    ],
)
def test_filters(flyte_http, filters, expected):
    for name in ("alpha", "beta", "x-1"):
        register(flyte_http, name)

    assert ids(flyte_http.get(f"projects?filters={filters}")) == expected


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("filters=nonsense", "invalid value for filters"),
        ("filters=eq(nope,1)", "'p.nope' is invalid filter"),
        ("filters=eq(p.x,1)", "'p.p.x' is invalid filter"),
        ("filters=eq(%20name,x)", "'p. name' is invalid filter"),
        ("filters=eq(name,a,b)", "'p.name,a' is invalid filter"),
        ("filters=eq(name,)", "invalid value for filters"),
        ("filters=eq(name,x)%2B", "invalid value for filters"),
        ("filters=eq(name,%0A)", "invalid value for filters"),
        ("filters=" + "(" * 20_000 + "," * 20_000, "invalid value for filters"),
        ("filters=eq(task.name,x)", "'t' entity is not allowed in filters"),
        ("filters=bad&sort_by.key=x&token=x", "invalid value for filters"),
        ("filters=eq(name,a;b)", "invalid semicolon separator in query"),
        ("filters=%zz", 'invalid URL escape "%zz"'),
        ("filters=%ff", "The address has bytes that are not UTF-8"),
        ("org=%00", "A text has a NUL character"),
        ("sort_by.direction=ASCENDING", "invalid sort key ''"),
        ("sort_by.x=1", "invalid sort key ''"),
        ("sort_by.direction=5", 'parsing field "direction": "5" is not a valid value'),
        ("sort_by=x", 'parsing field "sort_by": unsupported message type: "flyteidl.admin.Sort"'),
        ("limit.x=1", 'invalid path: "limit" is not a message'),
        ("limit[a]=1", 'too many values for field "limit": a, 1'),
        ("token=99999999999999999999", "invalid pagination token 99999999999999999999 for"),
        ("token=x&sort_by.key=x", "invalid sort key 'x'"),
        ("filters=like(name,x)", "unrecognized filter function: like"),
        ("filters=eq(name,a%3Bb)", "invalid value for filters"),
        ("filters=eq(state,x)", "invalid value for filters"),
        ("filters=gt(created_at,yesterday)", "invalid value for filters"),
        ("filters=contains(state,1)", "invalid value for filters"),
        ("filters=eq(name,%00)", "A text has a NUL character"),
        ("sort_by.key=nope", "invalid sort key 'nope'"),
        ("token=x", "invalid pagination token x for ListProjects"),
        ("token=-1", "invalid pagination token -1 for ListProjects"),
        ("limit=x", 'parsing field "limit": strconv.ParseUint: parsing "x": invalid syntax'),
        ("limit=4294967296", 'parsing field "limit": strconv.ParseUint: parsing "4294967296": value'),
    ],
)
def test_lists_are_refused_in_upstreams_words(flyte_http, query, message):
    answer = flyte_http.get(f"projects?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert answer.json()["message"].startswith(message)


def test_pages_and_sorting(flyte_http):
    for number, name in enumerate(("a", "b", "c")):
        register(flyte_http, name, description=str(9 - number))

    first = flyte_http.get("projects?limit=2")
    assert (ids(first), first.json()["token"]) == (["a", "b"], "2")
    rest = flyte_http.get("projects?limit=2&token=2")
    assert (ids(rest), rest.json()["token"]) == (["c"], "")
    assert ids(flyte_http.get("projects?token=%2B2")) == ["c"]
    assert ids(flyte_http.get("projects?sort_by.key=id&sort_by.direction=1")) == ["a", "b", "c"]
    assert ids(flyte_http.get("projects?sort_by.key=identifier")) == ["c", "b", "a"]
    assert ids(flyte_http.get("projects?sortBy.key=description&sortBy.direction=ASCENDING")) == [
        "c",
        "b",
        "a",
    ]


def test_lists_have_only_what_the_caller_may_read(db):
    from controlplane.scopes import Scope

    make_project("mine")
    make_project("other")
    viewer = FlyteHttp(token_for("viewer", scope=Scope(project="mine")))

    assert ids(viewer.get("projects")) == ["mine"]
    assert viewer.get("projects/other").status_code == 403
    assert register(viewer, "new").status_code == 403


def test_openapi_describes_every_call_with_upstreams_names(flyte_http):
    document = FlyteHttp().get("openapi").json()

    operations = {
        operation["operationId"] for path in document["paths"].values() for operation in path.values()
    }
    assert {"AdminService_GetWorkflowAttributes", "AdminService_ListProjects"} <= operations
    assert len(operations) == 16
    put = document["paths"]["/api/v1/project_attributes/{attributes.project}"]["put"]
    assert put["parameters"][-1]["schema"]["$ref"] in {
        f"#/definitions/{name}" for name in document["definitions"]
    }
    queue = document["definitions"]["adminMatchingAttributes"]["properties"]["execution_queue_attributes"]
    assert queue == {"$ref": "#/definitions/adminExecutionQueueAttributes"}
    for name in re.findall(r'"#/definitions/(\w+)"', str(document).replace("'", '"')):
        assert name in document["definitions"]


def test_the_health_check_says_nothing(client):
    answer = client.get("/healthcheck")

    assert (answer.status_code, answer.content) == (200, b"")


# The same projects natively.


def test_a_project_is_changed_and_archived_natively(api):
    api.post("scopes/projects", {"id": "p", "labels": {"team": "ml"}})

    changed = api.patch("scopes/projects/p", {"state": "archived", "description": "old"})

    assert changed.status_code == 200
    assert changed.json()["labels"] == {"team": "ml"}
    assert (changed.json()["state"], changed.json()["name"]) == ("archived", "p")
    assert changed.json()["updated_at"] > changed.json()["created_at"]
    record = next(entry for entry in api.get("audit").json()["items"] if entry["action"] == "project.updated")
    assert (record["before"]["state"], record["after"]["state"]) == ("active", "archived")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"state": "gone"}, "/state"),
        ({"labels": {"-": "x"}}, "/labels/-"),
        ({"labels": {f"k{n}": "" for n in range(17)}}, "/labels"),
        ({"id": "q"}, "/id"),
    ],
)
def test_a_bad_change_of_a_project_changes_nothing(api, body, pointer):
    make_project("p")

    refused = api.patch("scopes/projects/p", body)

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, pointer)
    assert Project.objects.get().state == 0
    assert api.patch("scopes/projects/nope", {}).status_code == 404


def test_labels_and_state_are_exported_and_applied(api):
    api.post("scopes/projects", {"id": "p", "labels": {"team": "ml"}, "state": "archived"})
    document = next(
        document
        for document in api.get("overrides/export?format=documents", Accept="application/json").json()[
            "documents"
        ]
        if document["kind"] == "project"
    )
    assert (document["labels"], document["state"]) == ({"team": "ml"}, "archived")

    active = {**document, "state": "active"}
    made = api.post("overrides:apply", {"documents": [active]}).json()
    assert [document["change"] for document in made["installation"]] == ["updated"]
    again = api.post("overrides:apply", {"documents": [active]}).json()
    assert again["installation"] == []
    for wrong in ({"state": "gone"}, {"labels": {"a": 1}}):
        assert api.post("overrides:apply", {"documents": [{**document, **wrong}]}).status_code == 400
