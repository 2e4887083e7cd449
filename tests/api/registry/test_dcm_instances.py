"""DCM's paths for instances: its statuses, fields, pages and errors."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.messaging.envelope import Envelope
from controlplane.messaging.models import OutboxMessage
from controlplane.scopes import Scope
from registry.api.dispatch.resource_schemas import SERVICE_TYPE_MESSAGE
from registry.dispatch.inbound.receiving import Sender, receive_message
from registry.dispatch.models import ResourceRow
from tests.support.api_client import AGENT, Api, make_project, token_for
from tests.support.two_teams import OURS, make_two_teams, member_of

DCM = "/api/v1alpha1/service-type-instances"
BODY: dict[str, Any] = {"spec": {"service_type": "vm", "vcpu": 2}}


@pytest.fixture
def agent(api: Api) -> str:
    assert api.post("agents", AGENT).status_code == 201
    return AGENT["name"]


def create(api: Api, instance_id: str) -> Any:
    answer = api.post(f"{DCM}?id={instance_id}", BODY)
    assert answer.status_code == 201, answer.content
    return answer.json()


def ids(api: Api, query: str = "") -> list[str]:
    answer = api.get(f"{DCM}?{query}")
    assert answer.status_code == 200, answer.content
    return [instance["id"] for instance in answer.json()["instances"]]


def problem_of(answer: Any) -> tuple[int, str, str]:
    problem = answer.json()
    assert answer["Content-Type"] == "application/problem+json"
    assert problem.keys() == {"type", "title", "status", "detail", "instance"}
    assert problem["status"] == answer.status_code
    return answer.status_code, problem["type"], problem["detail"]


def test_an_instance_is_a_resource(api, agent):
    instance = create(api, "web")

    times = {instance.pop("create_time"), instance.pop("update_time")}
    assert times
    assert instance == {
        "id": "web",
        "path": "service-type-instances/web",
        "service_type": "vm",
        "agent_name": agent,
        "status": "pending",
        "spec": BODY["spec"],
    }
    assert api.get(f"{DCM}/web").json()["id"] == "web"
    resource = api.get("resources/web").json()
    assert (resource["service_type"], resource["spec"]) == ("vm", BODY["spec"])
    assert OutboxMessage.objects.get().data["spec"] == BODY["spec"]
    assert AuditRecord.objects.filter(action="resource.requested").count() == 1


def test_without_an_id_it_gets_one_and_fields_that_are_not_ours_are_ignored(api, agent):
    body = {**BODY, "id": "x", "path": "y", "agent_name": "none", "status": "READY", "service_type": "vm"}

    instance = api.post(DCM, body).json()
    assert (len(instance["id"]), instance["agent_name"]) == (36, agent)


def test_without_an_agent_nothing_is_stored(api):
    answer = api.post(f"{DCM}?id=web", BODY)

    assert problem_of(answer) == (
        503,
        "unavailable",
        "No agent offers the service type vm. Try again later, or use POST /api/v1/resources, which waits.",
    )
    assert not ResourceRow.objects.exists()
    assert not OutboxMessage.objects.exists()
    assert not Event.objects.filter(type__startswith="resource.").exists()
    assert api.get(f"{DCM}/web").status_code == 404


def test_a_deletion_is_accepted_and_hides_the_instance_when_it_is_done(api, agent):
    create(api, "web")

    deleted = api.delete(f"{DCM}/web?deferred=true")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert api.delete(f"{DCM}/web").status_code == 204
    instance = api.get(f"{DCM}/web").json()
    assert (instance["status"], instance["deletion_status"]) == ("deleting", "SCHEDULED")
    data = {"resource_id": "web", "agent_name": agent, "status": "DELETED"}
    receive_message(Envelope("d", "dcm/agents/a1", "dcm.agent.deletion-acknowledged", data), Sender())

    for method in ("GET", "DELETE"):
        assert problem_of(api(method, f"{DCM}/web")) == (404, "not-found", "There is no resource 'web'.")
    assert api.get(f"{DCM}/web?show_deleted=true").json()["status"] == "deleted"
    assert (ids(api), ids(api, "show_deleted=true")) == ([], ["web"])


def test_a_list_has_filters_and_pages(api, agent):
    for number in range(5):
        create(api, f"i{number}")

    assert ids(api, "service_type=vm&agent_name=a1") == [f"i{number}" for number in range(5)]
    assert (ids(api, "service_type=container"), ids(api, "agent_name=a2")) == ([], [])
    seen, token = [], ""
    for _ in range(3):
        page = api.get(f"{DCM}?max_page_size=2&page_token={token}").json()
        seen.append([instance["id"] for instance in page["instances"]])
        token = page["next_page_token"]
    assert (seen, token) == ([["i0", "i1"], ["i2", "i3"], ["i4"]], "")


BAD_ID = "An id must have 1 to 63 characters of a-z, 0-9 and -, and must not begin or end with -."
NO_TYPE = f"spec.service_type is required. {SERVICE_TYPE_MESSAGE}"


@pytest.mark.parametrize(
    ("method", "path", "body", "detail"),
    [
        ("POST", "?id=Web", BODY, BAD_ID),
        ("POST", "?id=", BODY, BAD_ID),
        ("GET", "/we_b", None, BAD_ID),
        ("DELETE", "/-web", None, BAD_ID),
        ("POST", "", [], "The body must be a JSON object."),
        ("POST", "", {}, "/spec: This field is required."),
        ("POST", "", {"spec": "x"}, "/spec: This must be an object."),
        ("POST", "", {"spec": {}}, NO_TYPE),
        ("POST", "", {"spec": {"service_type": 7}}, NO_TYPE),
        ("POST", "", {"spec": {"service_type": "a.>"}}, NO_TYPE),
        ("POST", "", {"spec": {"service_type": "vm\n"}}, NO_TYPE),
        (
            "POST",
            "",
            {**BODY, "service_type": "container"},
            "service_type and spec.service_type differ. Send one of them.",
        ),
        ("GET", "?max_page_size=0", None, "max_page_size must be from 1 to 100"),
        ("GET", "?max_page_size=101", None, "max_page_size must be from 1 to 100"),
        ("GET", f"?max_page_size={'9' * 5000}", None, "max_page_size must be from 1 to 100"),
        ("GET", "?page_token=x", None, "invalid page_token"),
        ("GET", "?show_deleted=maybe", None, "show_deleted must be true or false."),
        ("DELETE", "/web?deferred=x", None, "deferred must be true or false."),
    ],
)
def test_invalid_requests_are_400(api, method, path, body, detail):
    assert problem_of(api(method, f"{DCM}{path}", body)) == (400, "validation-error", detail)


def test_a_taken_id_is_409(api, agent):
    create(api, "web")

    assert problem_of(api.post(f"{DCM}?id=web", BODY)) == (
        409,
        "conflict",
        "The resource id 'web' is in use. Leave out id, or choose another.",
    )


def test_a_broken_guard_rail_or_schema_is_422(api, agent):
    schema = {"type": "object", "properties": {"vcpu": {"type": "integer"}}}
    definition = {"name": "vm", "title": "VM", "meaning": "A machine.", "strategy": "merge", "schema": schema}
    assert api.post("resource-types", definition).status_code == 201
    rail = {"name": "small", "scope": {}, "resource_type": "vm", "pointer": "/vcpu", "rule": {"maximum": 4}}
    assert api.put("guard-rails/small", rail).status_code == 201

    assert create(api, "web")
    answer = api.post(DCM, {"spec": {"service_type": "vm", "vcpu": 64}})
    assert problem_of(answer) == (
        422,
        "provisioning-error",
        "The guard rail 'small' at global refuses /vcpu: the maximum is 4.",
    )
    answer = api.post(DCM, {"spec": {"service_type": "vm", "vcpu": "2"}})
    assert problem_of(answer)[:2] == (422, "provisioning-error")


def test_a_token_is_always_needed(api, agent, settings):
    settings.DCM_AGENTS = True
    create(api, "web")
    viewer, agent_token = Api(token_for("viewer")), Api(token_for("agent"))

    for caller, status in ((Api(), 401), (agent_token, 403)):
        for method, path in (("GET", ""), ("POST", ""), ("GET", "/web"), ("DELETE", "/web")):
            assert problem_of(caller(method, f"{DCM}{path}", BODY))[0] == status
    assert viewer.get(f"{DCM}/web").status_code == 200
    assert problem_of(viewer.post(DCM, BODY))[:2] == (403, "forbidden")
    assert problem_of(viewer.delete(f"{DCM}/web"))[:2] == (403, "forbidden")
    assert api.put(DCM, BODY).status_code == 405


def test_scopes_and_teams_limit_what_is_seen(api):
    world = make_two_teams(api)
    make_project("shop")
    create(api, "global")
    api.post("resources?id=shop", {"service_type": "vm", "spec": {}, "project": "shop"})
    editor = member_of(world.ours, Role.EDITOR)
    viewer = Api(token_for("viewer", scope=Scope(project="shop")))

    answer = editor.post(f"{DCM}?id=ours", BODY)
    assert answer.status_code == 201, answer.content
    assert ResourceRow.objects.get(id="ours").team.slug == OURS
    assert (ids(editor), ids(viewer), ids(api)) == (["ours"], ["shop"], ["global", "ours", "shop"])
    for caller in (editor, viewer):
        assert problem_of(caller.get(f"{DCM}/global"))[0] == 404
    assert problem_of(editor.delete(f"{DCM}/global"))[0] == 404
    # A role at a project creates nothing for everything.
    shop_editor = Api(token_for("editor", scope=Scope(project="shop")))
    assert problem_of(shop_editor.post(DCM, BODY))[0] == 403
    assert shop_editor.delete(f"{DCM}/shop").status_code == 204
