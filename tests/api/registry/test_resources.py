"""Resources over HTTP: request, read, list, delete, cancel, retry; what is refused, and how."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from controlplane.messaging.envelope import Envelope
from controlplane.messaging.models import OutboxMessage
from controlplane.scopes import Scope
from registry.api.dispatch.resource_schemas import SERVICE_TYPE_MESSAGE
from registry.dispatch.inbound.receiving import Sender, receive_message
from registry.dispatch.lifecycle.answers import MOST_REFUSALS
from registry.dispatch.models import AssignmentRow, ResourceRow
from tests.support.api_client import AGENT, Api, make_project, token_for

SPEC = {"image": "nginx:1.29"}
BODY: dict[str, Any] = {"service_type": "vm", "spec": SPEC}


@pytest.fixture
def agent(api: Api) -> str:
    answer = api.post("agents", AGENT)
    assert answer.status_code == 201
    return answer.json()["name"]


def create(api: Api, resource_id: str = "web", **fields: Any) -> Any:
    answer = api.post(f"resources?id={resource_id}", {**BODY, **fields})
    assert answer.status_code == 202, answer.content
    return answer.json()


def answer_of(agent: str, kind: str, resource_id: str, **data: Any) -> None:
    body = {"resource_id": resource_id, "agent_name": agent, **data}
    number = ResourceRow.objects.get(id=resource_id).version
    receive_message(
        Envelope(f"{kind}-{resource_id}-{number}", f"dcm/agents/{agent}", f"dcm.agent.{kind}", body), Sender()
    )


def report(resource_id: str, status: str, **more: Any) -> None:
    data = {"id": resource_id, "status": status, "message": f"It is {status}.", **more}
    receive_message(Envelope(f"s-{resource_id}-{status}", "p", "dcm.status.vm", data), Sender())


def ids(api: Api, query: str = "") -> list[str]:
    answer = api.get(f"resources?{query}")
    assert answer.status_code == 200, answer.content
    return [item["id"] for item in answer.json()["items"]]


def error_of(answer: Any) -> tuple[int, str, str]:
    problem = answer.json()
    return answer.status_code, problem["code"], problem["detail"]


def test_a_request_is_accepted_and_given_to_an_agent(api, agent):
    answer = api.post("resources?id=web&change_message=For the shop", {**BODY, "labels": {"app": "shop"}})

    assert (answer.status_code, answer["Location"]) == (202, "/api/v1/resources/web")
    resource = answer.json()
    assert (resource["state"], resource["agent"], resource["epoch"]) == ("pending", agent, 1)
    assert (resource["spec"], resource["labels"], resource["goal"]) == (SPEC, {"app": "shop"}, "present")
    assert (resource["team"], resource["project"], resource["placement"]) == (None, "", {})
    assert answer["ETag"] == f'"v{resource["version"]}"'
    assert api.get("resources/web").json() == resource
    assert OutboxMessage.objects.get().data["spec"] == SPEC
    record = AuditRecord.objects.get(action="resource.requested")
    assert (record.reason, record.object_id, "spec" in record.after) == ("For the shop", "web", False)


def test_without_an_id_it_gets_a_uuid_and_without_an_agent_it_waits(api):
    first, second = (api.post("resources", BODY).json() for _ in range(2))

    assert first["id"] < second["id"]
    assert (first["id"][14], len(first["id"])) == ("7", 36)
    assert (first["state"], first["agent"], first["agent_id"], first["epoch"]) == ("pending", None, None, 0)
    assert first["reason"]


def test_its_life_is_seen_at_every_step(api, agent):
    create(api)
    answer_of(agent, "creation-acknowledged", "web")
    assert api.get("resources/web").json()["state"] == "provisioning"
    report("web", "RUNNING", output_spec={"address": "10.0.0.7"})
    running = api.get("resources/web").json()
    assert (running["state"], running["status"]) == ("running", "RUNNING")
    assert running["output"] == {"address": "10.0.0.7"}

    deleted = api.delete("resources/web?change_message=No longer needed")
    assert (deleted.status_code, deleted.json()["state"]) == (202, "deleting")
    assert deleted["ETag"] == f'"v{deleted.json()["version"]}"'
    assert api.delete("resources/web").json()["version"] == deleted.json()["version"]
    answer_of(agent, "deletion-acknowledged", "web", status="DELETING")
    report("web", "DELETED")
    ended = api.get("resources/web").json()
    assert (ended["state"], ended["status"]) == ("deleted", "")
    assert api.delete("resources/web").status_code == 202
    assert AuditRecord.objects.get(action="resource.deletion_requested").reason == "No longer needed"


def test_the_assignments_tell_what_was_sent_and_answered(api, agent):
    create(api)
    answer_of(agent, "creation-acknowledged", "web")
    answer_of(agent, "error", "web", error="NO_SPACE", details="disk is full")
    answer_of(agent, "error", "web", error="NO_SPACE", details="disk is full")

    page = api.get("resources/web/assignments").json()
    (assignment,) = page["items"]
    assert page["next_cursor"] is None
    assert (assignment["epoch"], assignment["agent"], assignment["state"]) == (1, agent, "failed")
    assert (assignment["tries"], assignment["proven"]) == (1, True)
    lines = [(entry["what"], entry["verdict"]) for entry in assignment["timeline"]]
    assert lines == [
        ("assigned", "applied"),
        ("dcm.request.create", "sent"),
        ("dcm.agent.creation-acknowledged", "applied"),
        ("dcm.agent.error", "applied"),
        ("dcm.agent.error", "ignored"),
    ]
    assert assignment["timeline"][3]["text"] == "NO_SPACE: disk is full"
    assert assignment["timeline"][3]["actor"] == f"agent:{agent}"
    assert api.get("resources/none/assignments").status_code == 404


def test_cancel_and_retry(api, agent):
    create(api)

    cancelled = api.post("resources/web:cancel")
    assert (cancelled.status_code, cancelled.json()["goal"]) == (202, "cancelled")
    assert cancelled.json()["state"] == "cancelling"
    assert api.post("resources/web:cancel").json()["version"] == cancelled.json()["version"]
    assert error_of(api.post("resources/web:retry")) == (
        409,
        "conflict",
        "The resource is cancelling: there is nothing to try again.",
    )
    answer_of(agent, "deletion-acknowledged", "web", status="DELETED")
    retried = api.post("resources/web:retry").json()
    assert (retried["state"], retried["goal"], retried["epoch"]) == ("pending", "present", 2)
    report("web", "RUNNING")
    assert error_of(api.post("resources/web:cancel")) == (
        409,
        "conflict",
        "The resource is running and cannot be cancelled. Delete it with DELETE /api/v1/resources/web.",
    )


def test_a_request_that_waits_can_be_tried_at_once(api):
    create(api)
    assert api.post("agents", AGENT).status_code == 201

    assert api.post("resources/web:retry").json()["agent"] == AGENT["name"]


def test_only_operators_delete_by_force(api, agent):
    create(api)
    editor, operator = Api(token_for("editor")), Api(token_for("operator"))

    refused = editor.delete("resources/web?force=true")
    assert error_of(refused)[:2] == (403, "permission_denied")
    assert "dispatch.operate" in refused.json()["detail"]
    forced = operator.delete("resources/web?force=true&change_message=Agent burnt down")
    assert (forced.status_code, forced.json()["state"]) == (202, "deleted")
    assert api.get("resources/web/assignments").json()["items"][0]["state"] == "abandoned"
    assert operator.delete("resources/web?force=true").status_code == 202
    assert AuditRecord.objects.get(action="resource.deletion_forced").reason == "Agent burnt down"


def test_a_list_has_filters_and_pages(api, agent):
    make_project("shop")
    create(api, "a1", labels={"app": "shop", "tier": "db"}, project="shop", domain="development")
    create(api, "a2", labels={"app": "shop"}, service_type="container")
    create(api, "a3", project="shop")
    api.delete("resources/a3?force=true")
    create(api, "a4")
    api.post("resources/a4:cancel")

    assert ids(api) == ["a1", "a2", "a4"]
    assert ids(api, "show_deleted=true") == ["a1", "a2", "a3", "a4"]
    assert ids(api, "state=cancelling&state=deleted") == ["a3", "a4"]
    assert ids(api, "state=cancelling,pending") == ["a1", "a2", "a4"]
    assert ids(api, "service_type=container") == ["a2"]
    assert (ids(api, "project=shop"), ids(api, "domain=development")) == (["a1"], ["a1"])
    assert (ids(api, f"agent={agent}"), ids(api, "agent=none")) == (["a1", "a4"], [])
    assert (ids(api, "selector=app=shop,!tier"), ids(api, "team=none")) == (["a2"], [])

    page = api.get("resources?limit=1&state=pending&state=cancelling")
    seen = [page.json()["items"][0]["id"]]
    while link := page.get("Link"):
        page = api.get(link[1 : link.index(">")])
        seen += [item["id"] for item in page.json()["items"]]
    assert seen == ["a1", "a2", "a4"]
    cursor = api.get("resources?limit=1").json()["next_cursor"]
    assert error_of(api.get(f"resources?limit=1&state=pending&cursor={cursor}"))[1] == "invalid_cursor"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "state=done",
            "'done' is not a state. Use one of: pending, queued, provisioning, running, failed, cancelling, "
            "cancelled, deleting, deletion_failed, deleted.",
        ),
        ("team=a&team=b", "The parameter team is repeated. Send it once."),
        ("stat=pending", "Unknown name 'stat'. Did you mean 'state'?"),
        (
            "selector=a%3D%3D%3Db",
            "'a===b' is not a valid selector. Use name=value, name!=value, name in (a,b), name or !name.",
        ),
    ],
)
def test_a_list_refuses_what_it_does_not_know(api, query, message):
    assert error_of(api.get(f"resources?{query}")) == (400, "invalid_request", message)


BAD_ID = "An id must have 1 to 63 characters of a-z, 0-9 and -, and must not begin or end with -."


@pytest.mark.parametrize("resource_id", ["Web", "-web", "web-", "we_b", "a" * 64, "wéb"])
def test_an_id_is_like_those_of_providers(api, resource_id):
    answer = api.post(f"resources?id={resource_id}", BODY)

    assert error_of(answer) == (400, "invalid_request", BAD_ID)
    assert answer.json()["errors"][0]["pointer"] == "?id"


@pytest.mark.parametrize(
    ("change", "pointer", "message"),
    [
        ({"spec": []}, "/spec", "This must be an object."),
        ({"spec": None}, "/spec", "This field may not be null."),
        (
            {"spec": {"data": "x" * 262144}},
            "/spec",
            "The spec has 262155 bytes as JSON, and at most 262144 are allowed. Store large content "
            "elsewhere, and put its address into the spec.",
        ),
        ({"service_type": ""}, "/service_type", "This field may not be blank."),
        *(
            (
                {"service_type": name},
                "/service_type",
                SERVICE_TYPE_MESSAGE,
            )
            for name in ("x" * 64, "a.b", "../..", "a>", "a*", "-a", "a b")
        ),
        ({"specs": {}}, "/specs", "Unknown name 'specs'. Did you mean 'spec'?"),
        ({"labels": {"a b": "c"}}, "/labels/a b", "'a b'='c' is not a valid Kubernetes label."),
        (
            {"labels": {f"l{number}": "" for number in range(65)}},
            "/labels",
            "There are 65 labels. At most 64 are allowed.",
        ),
        (
            {"placement": {"selector": "a ? b"}},
            "/placement/selector",
            "'a ? b' is not a valid selector. Use name=value, name!=value, name in (a,b), name or !name.",
        ),
        ({"placement": {"zone": "b"}}, "/placement/zone", "Unknown name 'zone'. Valid names: "),
    ],
)
def test_a_body_that_is_not_a_request_is_refused(api, change, pointer, message):
    answer = api.post("resources", {**BODY, **change})

    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["message"][: len(message)]) == (pointer, message)
    assert not ResourceRow.objects.exists()


def test_a_service_type_and_a_spec_are_required(api):
    errors = api.post("resources", {}).json()["errors"]

    assert {(error["pointer"], error["code"]) for error in errors} == {
        ("/service_type", "required"),
        ("/spec", "required"),
    }


def test_a_scope_must_be_legal_and_known(api):
    make_project("shop")

    answer = api.post("resources", {**BODY, "project": "shop", "workflow": "train"})
    assert error_of(answer) == (422, "invalid_scope", "A workflow also requires: domain.")
    assert answer.json()["errors"][0]["pointer"] == "/domain"
    assert error_of(api.post("resources", {**BODY, "project": "shopp"})) == (
        404,
        "unknown_project",
        "Project 'shopp' does not exist. Did you mean 'shop'?",
    )
    assert error_of(api.post("resources", {**BODY, "domain": "qa"}))[1] == "unknown_domain"
    assert error_of(api.post("resources", {**BODY, "team": "none"})) == (
        404,
        "unknown_team",
        "Team 'none' does not exist.",
    )


def test_an_id_is_used_once(api):
    create(api)

    assert error_of(api.post("resources?id=web", BODY)) == (
        409,
        "name_taken",
        "The resource id 'web' is in use. Leave out id, or choose another.",
    )


def test_a_key_makes_a_retry_safe(api):
    first = api.post("resources", BODY, Idempotency_Key="k1")
    again = api.post("resources", BODY, Idempotency_Key="k1")

    assert (again.status_code, again.json()) == (202, first.json())
    assert (again["Location"], again["ETag"]) == (first["Location"], first["ETag"])
    assert again["Idempotent-Replayed"] == "true"
    other = api.post("resources", {**BODY, "service_type": "container"}, Idempotency_Key="k1")
    assert error_of(other)[:2] == (422, "idempotency_key_reused")
    assert ResourceRow.objects.count() == 1


def test_a_dry_run_answers_alike_and_stores_nothing(api, agent):
    answer = api.post("resources?id=web&dry_run=true", BODY)

    assert (answer.status_code, answer["Dry-Run"], answer.json()["agent"]) == (202, "true", agent)
    assert not ResourceRow.objects.exists()
    assert not OutboxMessage.objects.exists()
    create(api)
    assert api.delete("resources/web?dry_run=true").json()["state"] == "deleting"
    assert api.post("resources/web:cancel?dry_run=true").json()["state"] == "cancelling"
    assert api.get("resources/web").json()["goal"] == "present"


def test_an_etag_spares_the_body(api, agent):
    etag = f'"v{create(api)["version"]}"'

    assert api.get("resources/web", If_None_Match=etag).status_code == 304
    answer_of(agent, "creation-acknowledged", "web")
    assert api.get("resources/web", If_None_Match=etag).status_code == 200


def test_only_operators_give_up_a_failed_deletion(api, agent):
    create(api)
    answer_of(agent, "creation-acknowledged", "web")
    api.delete("resources/web")
    AssignmentRow.objects.update(refusals=MOST_REFUSALS - 1)
    answer_of(agent, "error", "web")
    assert api.get("resources/web").json()["state"] == "deletion_failed"

    refused = Api(token_for("editor")).post("resources/web:retry?force=true")
    assert error_of(refused)[:2] == (403, "permission_denied")
    assert api.get("resources/web").json()["state"] == "deletion_failed"
    dry = api.post("resources/web:retry?force=true&dry_run=true")
    assert (dry.status_code, dry.json()["state"]) == (202, "deleted")
    assert Api(token_for("operator")).post("resources/web:retry?force=true").json()["state"] == "deleted"
    assert api.get("resources/web/assignments").json()["items"][0]["state"] == "abandoned"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_what_does_not_exist_is_not_found(api, method):
    assert error_of(api(method, "resources/web")) == (
        404,
        "unknown_resource",
        "There is no resource 'web'.",
    )
    for step in (":cancel", ":retry"):
        assert error_of(api.post(f"resources/web{step}"))[1] == "unknown_resource"


def test_roles_at_a_project_reach_its_resources_alone(api):
    for project in ("shop", "bank"):
        make_project(project)
        create(api, project, project=project, domain="development")
    create(api, "global")
    editor = Api(token_for("editor", scope=Scope(project="shop")))
    viewer = Api(token_for("viewer", scope=Scope(project="shop")))

    for caller in (editor, viewer):
        assert ids(caller) == ["shop"]
        assert [caller.get(f"resources/{name}").status_code for name in ("shop", "bank", "global")] == [
            200,
            404,
            404,
        ]
        assert caller.get("resources/bank/assignments").status_code == 404
    assert error_of(viewer.delete("resources/shop"))[:2] == (403, "permission_denied")
    assert error_of(viewer.post("resources", {**BODY, "project": "shop"}))[0] == 403
    assert error_of(editor.delete("resources/bank"))[:2] == (404, "unknown_resource")
    for step in (":cancel", ":retry"):
        assert error_of(editor.post(f"resources/bank{step}"))[:2] == (404, "unknown_resource")
    assert editor.post("resources?id=two", {**BODY, "project": "shop"}).status_code == 202
    # As for overrides: neither answer reveals whether the project exists.
    for project in ("bank", "none", ""):
        assert error_of(editor.post("resources", {**BODY, "project": project}))[0] == 403
    assert ids(Api(token_for("publisher", "viewer", scope=Scope(project="bank")))) == ["bank"]
    assert error_of(Api(token_for("agent")).get("resources"))[0] == 403
    assert error_of(Api().get("resources"))[0] == 401
