"""The document of a scope, and the export of everything, through HTTP: what is read can be put back."""

from __future__ import annotations

import io
import tarfile
from typing import Any

import pytest
from django.db import connection

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from overrides.documents.export import folder_files
from overrides.models import (
    Domain,
    GuardRailRow,
    Override,
    OverrideVersion,
    Project,
    Revision,
    RevisionCounter,
    ScopeHead,
    TypeDefinition,
)
from tests.support.api_client import Api, make_project, token_for

YAML = "application/yaml"
HERE = "?project=flytesnacks&domain=development"
CPU = {"attributes": {"defaults": {"cpu": "1"}}}


@pytest.fixture(autouse=True)
def _project(db):
    make_project()


def everything() -> list[Any]:
    tables = (Override, OverrideVersion, Revision, RevisionCounter, ScopeHead)
    contents: list[Any] = [list(table.objects.order_by("pk").values()) for table in tables]
    return [*contents, AuditRecord.objects.count(), Event.objects.count()]


def version(api: Api, query: str = HERE, as_of: str = "") -> int:
    return api.get(f"overrides/document{query}{as_of}").json()["status"]["version"]


# Reading the document of a scope.


def test_the_document_comes_as_json_or_as_yaml_by_accept(api):
    api.put(f"overrides/task_resource{HERE}", CPU)

    plain = api.get(f"overrides/document{HERE}")
    as_json = api.get(f"overrides/document{HERE}", Accept="application/json, application/yaml")
    as_yaml = api.get(f"overrides/document{HERE}", Accept="application/yaml, application/json")

    assert (plain["Content-Type"], as_json["Content-Type"]) == ("application/json",) * 2
    assert as_yaml["Content-Type"] == YAML
    assert strict_yaml.load(as_yaml.content.decode()) == plain.json() == as_json.json()
    assert plain["Vary"] == as_yaml["Vary"] == "Accept"
    assert plain["ETag"] == as_yaml["ETag"] == '"v1"'


def test_the_document_names_its_scope_and_what_is_set_there(api):
    path = f"{HERE}&workflow=a.b&launch_plan=%C3%BC%2F1"
    api.put(f"overrides/task_resource{path}", CPU)

    assert api.get(f"overrides/document{path}").json() == {
        "apiVersion": 1,
        "kind": "overrides",
        "domain": "development",
        "project": "flytesnacks",
        "workflow": "a.b",
        "launchPlan": "ü/1",
        "spec": {"taskResources": {"defaults": {"cpu": "1"}}},
        "status": {"version": 1},
    }


@pytest.mark.parametrize(
    ("query", "level"),
    [("", "global"), ("?domain=development", "domain"), ("?project=flytesnacks", "project")],
)
def test_a_type_that_is_not_set_here_is_marked_with_the_level_that_it_comes_from(api, query, level):
    api.put(f"overrides/workflow_execution_config{query}", {"attributes": {"max_parallelism": 5}})

    spec = api.get(f"overrides/document{HERE}").json()["spec"]

    assert spec == {"workflowExecutionConfig": {"inherited": True, "source": level, "maxParallelism": 5}}


def test_of_several_levels_the_most_specific_is_the_source(api):
    api.put("overrides/task_resource?project=flytesnacks", CPU)
    api.put("overrides/task_resource", {"attributes": {"limits": {"cpu": "4"}}})

    spec = api.get(f"overrides/document{HERE}").json()["spec"]

    assert spec["taskResources"] == {
        "inherited": True,
        "source": "project",
        "defaults": {"cpu": "1"},
        "limits": {"cpu": "4"},
    }


def test_what_the_type_itself_says_comes_from_the_platform(api):
    definition = {"name": "free", "strategy": "merge", "schema": {"type": "object"}, "defaults": {"a": 1}}
    api.post("resource-types", definition)

    spec = api.get(f"overrides/document{HERE}").json()["spec"]

    assert spec == {"free": {"inherited": True, "source": "platform", "a": 1}}


def test_values_inherited_beside_own_ones_stand_under_status(api):
    api.put("overrides/task_resource", {"attributes": {"limits": {"cpu": "4"}}})
    api.put(f"overrides/task_resource{HERE}", CPU)

    document = api.get(f"overrides/document{HERE}").json()

    assert document["spec"] == {"taskResources": {"defaults": {"cpu": "1"}}}
    assert document["status"]["inherited"] == {
        "taskResources": [{"pointer": "/limits/cpu", "value": "4", "source": "global"}]
    }


def test_a_type_that_is_set_to_nothing_is_set(api):
    api.put("overrides/task_resource", CPU)
    api.put(f"overrides/task_resource{HERE}", {"attributes": {}})

    assert api.get(f"overrides/document{HERE}").json()["spec"] == {"taskResources": {}}


def test_a_removal_stands_in_the_document_as_it_is_set(api):
    api.put(f"overrides/task_resource{HERE}", {"attributes": {"limits": {"gpu": None}}})

    assert api.get(f"overrides/document{HERE}").json()["spec"] == {"taskResources": {"limits": {"gpu": None}}}


RAIL = {"name": "cap", "resource_type": "task_resource", "pointer": "/limits/cpu", "rule": {"maximum": "9"}}
TYPE = {"name": "free", "strategy": "merge", "schema": {"type": "object"}}
MOVES = {
    "own": lambda api: api.put(f"overrides/task_resource{HERE}", {"attributes": {}}, If_Match="*"),
    "own removed": lambda api: api.delete(f"overrides/task_resource{HERE}", If_Match="*"),
    "another type": lambda api: api.put(f"overrides/execution_queue{HERE}", {"attributes": {}}),
    "global": lambda api: api.put("overrides/task_resource", CPU),
    "domain": lambda api: api.put("overrides/task_resource?domain=development", CPU),
    "project": lambda api: api.put("overrides/task_resource?project=flytesnacks", CPU),
    "rail": lambda api: api.put("guard-rails/cap", RAIL),
    "type": lambda api: api.post("resource-types", TYPE),
    "document": lambda api: api.put(
        f"overrides/document{HERE}", {"kind": "overrides", "spec": {}}, If_Match="*"
    ),
}
STAYS = {
    "another domain": lambda api: api.put("overrides/task_resource?domain=staging", CPU),
    "another project": lambda api: api.put("overrides/task_resource?project=other", CPU),
    "below": lambda api: api.put(f"overrides/task_resource{HERE}&workflow=w", CPU),
    "crossing": lambda api: api.put("overrides/task_resource?project=flytesnacks&domain=staging", CPU),
    "the same": lambda api: api.put(f"overrides/task_resource{HERE}", CPU, If_Match="*"),
    "a project": lambda api: api.post("projects", {"id": "third"}),
    "a dry run": lambda api: api.put("overrides/task_resource?dry_run=true", CPU),
    "a refusal": lambda api: api.put("overrides/task_resource", {"attributes": {"x": 1}}),
}


@pytest.mark.parametrize("move", MOVES)
def test_the_version_rises_with_everything_that_the_document_is_made_of(api, move):
    api.put(f"overrides/task_resource{HERE}", CPU)
    before = version(api)

    assert MOVES[move](api).status_code < 300

    assert version(api) > before
    assert version(api, as_of=f"&as_of={before}") == before


@pytest.mark.parametrize("stay", STAYS)
def test_the_version_stays_with_everything_else(api, stay):
    make_project("other")
    api.put(f"overrides/task_resource{HERE}", CPU)
    first = api.get(f"overrides/document{HERE}")

    STAYS[stay](api)

    again = api.get(f"overrides/document{HERE}", If_None_Match=first["ETag"])
    assert (again.status_code, again["ETag"]) == (304, first["ETag"])


def test_the_document_of_the_past_is_as_it_was(api):
    api.put("overrides/task_resource", CPU)
    then = api.get(f"overrides/document{HERE}").json()
    api.put(f"overrides/task_resource{HERE}", CPU)

    assert api.get(f"overrides/document{HERE}&as_of=1").json() == then


# Putting one back.


def fill(api: Api) -> None:
    api.put("overrides/task_resource", {"attributes": {"limits": {"cpu": "4"}}})
    api.put(
        "overrides/plugin_override", {"attributes": {"overrides": [{"task_type": "a", "plugin_id": ["b"]}]}}
    )
    api.put(f"overrides/task_resource{HERE}", {"attributes": {"limits": {"gpu": None}, "defaults": {}}})
    config = {"labels": {"values": {"a_b": "c"}}, "envs": {"values": [{"key": "A", "value": "1_0"}]}}
    api.put(f"overrides/workflow_execution_config{HERE}", {"attributes": config})


@pytest.mark.parametrize("accept", ["application/json", YAML])
def test_a_document_that_is_put_back_as_it_was_read_changes_nothing(api, accept):
    fill(api)
    read = api.get(f"overrides/document{HERE}", Accept=accept)
    before = everything()

    answer = api.put(
        f"overrides/document{HERE}", read.content, Content_Type=accept, Accept=accept, If_Match=read["ETag"]
    )

    assert (answer.status_code, answer.content, answer["ETag"]) == (200, read.content, read["ETag"])
    assert everything() == before


@pytest.mark.parametrize("query", ["", HERE])
def test_even_the_first_document_can_be_put_back(api, query):
    read = api.get(f"overrides/document{query}")

    answer = api.put(f"overrides/document{query}", read.json(), If_Match=read["ETag"])

    assert (read["ETag"], answer.status_code, answer["ETag"]) == ('"v0"', 200, '"v0"')


def test_a_put_sets_what_is_said_and_removes_the_rest(api):
    fill(api)
    etag = api.get(f"overrides/document{HERE}")["ETag"]
    body = {"spec": {"taskResources": {"defaults": {"cpu": "2"}}, "pluginOverrides": {"inherited": True}}}

    answer = api.put(f"overrides/document{HERE}", body, If_Match=etag)

    assert answer.status_code == 200
    here = Override.objects.filter(project="flytesnacks")
    assert [(row.resource_type, row.attributes) for row in here] == [
        ("task_resource", {"defaults": {"cpu": "2"}})
    ]
    assert answer.json() == api.get(f"overrides/document{HERE}").json()


def test_a_put_makes_one_revision(api):
    fill(api)
    last = RevisionCounter.objects.get().revision

    api.put(f"overrides/document{HERE}", {"spec": {"pluginOverrides": {}}}, If_Match="*")

    assert RevisionCounter.objects.get().revision == last + 1
    assert Revision.objects.get(revision=last + 1).changes == 3


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 428), ({"If_Match": '"v1"'}, 412), ({"If_Match": 'W/"v2"'}, 412), ({"If_None_Match": "*"}, 412)],
    ids=str,
)
def test_a_put_without_the_version_that_stands_is_refused(api, headers, status):
    api.put(f"overrides/task_resource{HERE}", CPU)
    api.put("overrides/task_resource", CPU)
    before = everything()

    answer = api.put(f"overrides/document{HERE}", {"spec": {}}, **headers)

    assert answer.status_code == status
    assert everything() == before


def test_a_change_of_an_ancestor_makes_the_document_stale(api):
    etag = api.get(f"overrides/document{HERE}")["ETag"]
    api.put("overrides/task_resource", CPU)

    assert api.put(f"overrides/document{HERE}", {"spec": {}}, If_Match=etag).status_code == 412


@pytest.mark.parametrize(
    "scope", [{"domain": "staging"}, {"project": "flytesnacks"}, {"workflow": "w"}], ids=str
)
def test_a_document_about_another_scope_is_refused(api, scope):
    answer = api.put(f"overrides/document{HERE}", {**scope, "spec": {}}, If_Match="*")

    assert answer.status_code in (400, 422)
    assert everything()[0] == []


def test_a_document_may_leave_its_scope_to_the_request(api):
    body = {"spec": {"taskResources": {}}}

    api.put(f"overrides/document{HERE}&workflow=w", body, If_Match="*")

    assert Override.objects.get().scope == Scope("development", "flytesnacks", "w")


def test_a_type_in_both_spellings_is_refused_and_none_is_taken(api):
    body = {"spec": {"taskResources": {}, "task_resource": {"limits": {"cpu": "2"}}}}

    answer = api.put(f"overrides/document{HERE}", body, If_Match="*")

    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "given_twice")
    assert everything()[0] == []


def test_mistakes_in_a_put_of_yaml_have_line_and_column(api):
    body = b"spec:\n  taskResources:\n    limits: {cpu: x}\n    limit: {}\n"

    answer = api.put(f"overrides/document{HERE}", body, Content_Type=YAML, If_Match="*")

    errors = [(error["pointer"], error["line"], error["column"]) for error in answer.json()["errors"]]
    assert errors == [
        ("/documents/0/spec/taskResources/limit", 4, 12),
        ("/documents/0/spec/taskResources/limits/cpu", 3, 19),
    ]


@pytest.mark.parametrize("form", [YAML, "application/json"])
def test_a_put_without_anything_to_set_is_a_mistake_and_removes_nothing(api, form):
    api.put(f"overrides/task_resource{HERE}", CPU)

    for body in (b"", b'{"kind": "overrides"}', b" "):
        answer = api.put(f"overrides/document{HERE}", body, Content_Type=form, If_Match="*")
        assert answer.status_code == 400

    assert Override.objects.count() == 1


@pytest.mark.parametrize("body", [b"spec: {}\n---\nspec: {}\n", b"- spec: {}\n", b"kind: ConfigMap"])
def test_a_put_takes_exactly_one_document(api, body):
    answer = api.put(f"overrides/document{HERE}", body, Content_Type=YAML, If_Match="*")

    assert answer.status_code == 400


def test_a_dry_run_shows_the_document_that_would_be_and_keeps_nothing(api):
    before = everything()

    answer = api.put(f"overrides/document{HERE}&dry_run=true", {"spec": {"taskResources": {}}}, If_Match="*")

    assert answer.json()["spec"] == {"taskResources": {}}
    assert everything() == before


def test_what_others_manage_is_not_removed_unless_forced_by_right(api):
    body = {"spec": {"taskResources": {"limits": {"cpu": "1"}}}, "project": "flytesnacks"}
    api.post("overrides:apply?managed_by=git", {"documents": [body]})
    path, editor = "overrides/document?project=flytesnacks", Api(token_for("editor"))

    refused = editor.put(path, {"spec": {}}, If_Match="*")
    not_allowed = editor.put(f"{path}&force=true", {"spec": {}}, If_Match="*")
    forced = api.put(f"{path}&force=true", {"spec": {}}, If_Match="*")

    assert (refused.status_code, refused.json()["code"]) == (409, "managed_elsewhere")
    assert (not_allowed.status_code, forced.status_code) == (403, 200)


def test_a_put_must_fit_what_is_inherited_and_what_inherits(api):
    api.put("overrides/task_resource", {"attributes": {"limits": {"cpu": "1"}}})

    answer = api.put(
        f"overrides/document{HERE}", {"spec": {"taskResources": {"defaults": {"cpu": "2"}}}}, If_Match="*"
    )

    assert (answer.status_code, answer.json()["code"]) == (422, "inherited_conflict")


def test_who_may_read_or_write_a_scope_may_read_or_write_its_document():
    scope = Scope(project="flytesnacks")
    viewer, editor = (Api(token_for(role, scope=scope)) for role in ("viewer", "editor"))

    def statuses(caller: Api, query: str) -> list[int]:
        put = caller.put(f"overrides/document{query}", {"spec": {}}, If_Match="*")
        return [caller.get(f"overrides/document{query}").status_code, put.status_code]

    assert statuses(viewer, HERE) == [200, 403]
    assert statuses(editor, HERE) == [200, 200]
    assert statuses(editor, "?domain=development") == [403, 403]


# The export of everything.

ODD_WORKFLOWS = [
    "a.b.train",
    "../../etc/passwd",
    ".hidden",
    "..",
    ".",
    "/",
    "~",
    "-rf",
    "a b",
    "naïve/Workflow 😀",
    "%2e%2e",
    "_any",
    "_global",
    "w",
    "w.yaml",
    "w.yaml.yaml",
    "CON",
    "null",
    "1_000",
    "é" * 255,
    "x" * 255,
    "[x]: {y}",
    "'\"\\",
]


def define(api: Api) -> None:
    api.post("overrides:apply", {"documents": [{"kind": "domain", "id": "canary"}]})
    definition = {
        "name": "free_form",
        "document_key": "freeForm",
        "strategy": "merge",
        "schema": {"type": "object", "properties": {"some_list": {"type": "array"}}},
        "merge": [{"path": "/some_list", "rule": "append_unique"}],
        "title": "Free: form",
    }
    api.post("resource-types", definition)
    api.put("guard-rails/cap", {**RAIL, "scope": {"domain": "production"}, "reason": "Too\nmuch"})
    locked = {
        "name": "lock",
        "resource_type": "free_form",
        "pointer": "/x",
        "rule": {"lock_below": "project"},
    }
    api.put("guard-rails/lock", {**locked, "scope": {"project": "flytesnacks"}})


def odd_documents() -> list[dict[str, Any]]:
    hostile = {
        "y": "no",
        "n": "1e3",
        "d": "2001-01-01",
        "s": " a\n b\n",
        "e": "",
        "u": "\u2028\x85😀",
        "f": 1e16,
    }
    documents_found: list[dict[str, Any]] = [
        {"spec": {"freeForm": {"someList": [hostile, [], {}, None, 0.5, -7, True]}, "pluginOverrides": {}}},
        {"domain": "canary", "spec": {"taskResources": {"limits": {"gpu": None}}}},
        {"project": "flytesnacks", "spec": {"freeForm": {"x": {"1": "<<", "<<": 1}}}},
        {
            "project": "flytesnacks",
            "domain": "canary",
            "spec": {"workflowExecutionConfig": {"labels": {"values": {"on": "off", "a_b": "true"}}}},
        },
    ]
    where = {"project": "flytesnacks", "domain": "development"}
    for workflow in ODD_WORKFLOWS:
        document = {**where, "workflow": workflow, "spec": {"freeForm": {"someList": [workflow]}}}
        documents_found += [document, {**document, "launchPlan": workflow}]
    return documents_found


@pytest.fixture
def odd(api: Api, settings: Any) -> Api:
    """An installation with all that could go wrong on the way."""
    settings.CONFIRM_ABOVE_SCOPES = 0
    define(api)
    answer = api.post("overrides:apply?managed_by=git", {"documents": odd_documents()})
    assert answer.status_code == 200, answer.json()
    return api


def empty() -> None:
    tables = (Override, OverrideVersion, Revision, ScopeHead, TypeDefinition, GuardRailRow, Project, Domain)
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"DELETE FROM {table._meta.db_table}")


@pytest.mark.parametrize("layout", ["configmap", "documents"])
@pytest.mark.parametrize("accept", [YAML, "application/json"])
def test_an_export_into_an_empty_installation_makes_it_the_same_to_the_byte(odd, layout, accept):
    exported = odd.get(f"overrides/export?format={layout}", Accept=accept).content
    rows = list(Override.objects.order_by("pk").values_list("resource_type", "workflow", "attributes"))
    empty()

    body = exported
    if accept == "application/json" and layout == "configmap":
        body = b'{"documents": [' + exported + b"]}"
    answer = odd.post("overrides:apply?managed_by=git", body, Content_Type=accept)

    assert answer.status_code == 200, answer.json()
    assert odd.get(f"overrides/export?format={layout}", Accept=accept).content == exported
    again = Override.objects.values_list("resource_type", "workflow", "attributes")
    assert sorted(map(str, again)) == sorted(map(str, rows))


def test_an_export_applied_where_it_came_from_changes_nothing(odd):
    exported = odd.get("overrides/export").content
    before = everything()

    answer = odd.post("overrides:apply?managed_by=git&prune=true", exported, Content_Type=YAML).json()

    assert (answer["revision"], answer["changes"]) == (0, [])
    assert everything() == before


def remove_everything(api: Api) -> None:
    path = "overrides:apply?managed_by=git&prune=true"
    confirm = api.post(f"{path}&dry_run=true", {"documents": []}).json()["confirm"]
    assert api.post(f"{path}&confirm={confirm}", {"documents": []}).status_code == 200


@pytest.mark.parametrize("layout", ["configmap", "documents", "folder"])
def test_the_same_content_gives_the_same_bytes_in_whatever_order_it_came(odd, layout):
    first = odd.get(f"overrides/export?format={layout}").content
    remove_everything(odd)
    assert Override.objects.count() == 0

    for odd_document in reversed(odd_documents()):
        odd.post("overrides:apply?managed_by=somebody", {"documents": [odd_document]})

    assert odd.get(f"overrides/export?format={layout}").content == first


def test_an_export_of_the_past_is_what_was_exported_then(odd):
    then, revision = odd.get("overrides/export").content, RevisionCounter.objects.get().revision
    remove_everything(odd)
    odd.delete("guard-rails/cap", If_Match="*")

    assert odd.get("overrides/export").content != then
    assert odd.get(f"overrides/export?as_of={revision}").content == then


def test_an_export_says_what_it_is(api):
    headers = {
        name: (answer["Content-Type"], answer["Content-Disposition"])
        for name in ("configmap", "documents", "folder")
        for answer in [api.get(f"overrides/export?format={name}")]
    }

    assert headers == {
        "configmap": (YAML, 'attachment; filename="overrides.yaml"'),
        "documents": (YAML, 'attachment; filename="overrides.yaml"'),
        "folder": ("application/x-tar", 'attachment; filename="overrides.tar"'),
    }


def archive_of(api: Api) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(api.get("overrides/export?format=folder").content))


def test_every_name_in_the_folder_is_safe(odd):
    with archive_of(odd) as archive:
        members = archive.getmembers()

    assert all(member.isreg() for member in members)
    names = [member.name for member in members]
    assert len(names) == len(set(names))
    for step in (step for name in names for step in name.split("/")):
        assert step.isascii()
        assert step.isprintable()
        assert step[0] not in "./~" or step == "~.yaml" or step == "~"
        assert " " not in step
        assert len(step) <= 255


def test_the_folder_can_be_unpacked_and_holds_the_same_documents(odd, tmp_path):
    with archive_of(odd) as archive:
        archive.extractall(tmp_path, filter="data")

    documents = odd.get("overrides/export?format=documents", Accept="application/json").json()["documents"]
    texts = [path.read_text() for path in tmp_path.rglob("*.yaml")]
    documents_found = [document for text in texts for document in strict_yaml.load_all(text)]
    assert sorted(map(str, documents_found)) == sorted(map(str, documents))


def test_each_scope_has_a_file_of_its_own(odd):
    documents = odd.get("overrides/export?format=documents", Accept="application/json").json()["documents"]

    files = folder_files(documents)

    of_overrides = [document for document in documents if document["kind"] == "overrides"]
    assert len(files) == len(of_overrides) + 1
    assert "installation.yaml" in files


def test_the_files_are_called_as_the_scopes_are():
    def name(**scope: str) -> str:
        (folder_file,) = folder_files([{"kind": "overrides", **scope, "spec": {}}])
        return folder_file

    assert name() == "overrides/_global.yaml"
    assert name(domain="d") == "overrides/_any/d.yaml"
    assert name(project="p") == "overrides/p.yaml"
    assert name(project="p", domain="d") == "overrides/p/d.yaml"
    assert name(project="p", domain="d", workflow="a.b/c") == "overrides/p/d/a.b%2Fc.yaml"
    assert name(project="p", domain="d", workflow="_any") == "overrides/p/d/%5fany.yaml"


def test_who_may_read_a_part_may_not_export_everything():
    of_project = Api(token_for("viewer", "editor", scope=Scope(project="flytesnacks")))

    for layout in ("configmap", "documents", "folder"):
        assert of_project.get(f"overrides/export?format={layout}").status_code == 403
    assert Api(token_for("viewer")).get("overrides/export").status_code == 200


# Types that documents could not tell apart.


def test_members_that_are_the_same_in_camel_case_are_refused(api):
    inner = {"type": "object", "properties": {"c_d": {}, "cD": {}}}
    schema = {"type": "object", "properties": {"a_b": {}, "aB": {}, "e": inner}}

    answer = api.post("resource-types", {**TYPE, "schema": schema})

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [
        "/schema/properties/aB",
        "/schema/properties/e/properties/cD",
    ]


@pytest.mark.parametrize("second", [{"document_key": "free"}, {"document_key": "other"}, {"name": "other"}])
def test_a_key_in_documents_means_one_type_only(api, second):
    api.post("resource-types", {**TYPE, "document_key": "other"})

    answer = api.post("resource-types", {**TYPE, "name": "second", **second})

    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")
