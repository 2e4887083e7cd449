"""Approval policies through HTTP: what they hold, who bypasses them, and who sees them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.scopes import Scope
from overrides.approval_models import ApprovalPolicy
from overrides.models import Override, OverrideVersion
from overrides.scheduled_models import OverrideChange
from overrides.scheduling.execution import run_due_changes
from tests.api.overrides.test_freezes import ATTRIBUTES, CHANGED, HERE, WEC, WRITES, trace
from tests.support.api_client import Api, make_project, token_for


def protect(api: Api, approvals: int = 1, **scope: str) -> Any:
    return api.post("approval-policies", {"scope": scope, "approvals": approvals, "reason": "Production"})


@pytest.fixture(autouse=True)
def _world(api: Api) -> None:
    make_project()
    api.put(f"{WEC}?{HERE}", ATTRIBUTES)


@pytest.fixture
def editor(db) -> Api:
    return Api(token_for("editor"))


def test_a_policy_is_set_changed_and_deleted_with_audit_rows_and_events(api):
    answer = protect(api, 2, domain="production")
    path = f"approval-policies/{answer.json()['id']}"

    stale = api.patch(path, {"approvals": 3}, If_Match='"v7"')
    changed = api.patch(path, {"approvals": 3}, If_Match='"v1"')
    read = api.get(path)
    deleted = api.delete(path)

    assert (answer.status_code, answer["ETag"], answer.json()["approvals"]) == (201, '"v1"', 2)
    assert (stale.status_code, changed["ETag"], read.json()["approvals"]) == (412, '"v2"', 3)
    assert (deleted.status_code, ApprovalPolicy.objects.count()) == (204, 0)
    steps = ["approval_policy.created", "approval_policy.changed", "approval_policy.deleted"]
    rows = AuditRecord.objects.filter(object_type="approval_policy").order_by("id")
    assert [row.action for row in rows] == steps
    assert [
        event.type for event in Event.objects.filter(object_type="approval_policy").order_by("id")
    ] == steps
    assert (rows[1].before["approvals"], rows[1].after["approvals"], rows[2].after) == (2, 3, None)


@pytest.mark.parametrize("write", WRITES)
def test_every_kind_of_write_is_held_a_dry_run_says_so_and_a_bypass_passes(api, write):
    protect(api, 2, domain="production")
    before = trace()
    force = "&force=true" if write in ("apply", "rollback") else ""

    refused = WRITES[write](api, "")
    tried = WRITES[write](api, "&dry_run=true")

    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (409, "approval_required"), problem
    assert (problem["required"], problem["approvals"], len(problem["policies"])) == (2, 0, 1)
    assert "at domain=production need 2 approvals by a policy of admin" in problem["detail"]
    ending = "--delete" if write in ("delete", "rollback") else "-f FILE"
    command = "cpctl change-requests create workflow_execution_config -p flytesnacks -d production"
    assert f"{command} {ending}" in problem["detail"]
    assert tried.status_code < 300, tried.json()
    plan = {} if write == "delete" else tried.json()
    assert tried.headers.get("Approvals-Required") or plan.get("plan", plan)["protected_by"]
    assert trace() == before
    passed = WRITES[write](api, f"&approval_override=Fire{force}")
    assert passed.status_code < 300, passed.json()
    assert OverrideVersion.objects.count() == before[0] + 1


def test_a_preview_lists_the_policies(api):
    protect(api, 2, domain="production")

    plan = api.post(f"{WEC}:preview?{HERE}", CHANGED, If_Match='"v1"').json()

    assert [policy["approvals"] for policy in plan["protected_by"]] == [2]


def test_a_bypass_is_recorded_with_its_reason(api):
    policy = protect(api, domain="production").json()

    api.patch(f"{WEC}?{HERE}&approval_override=Fire+in+the+hall", CHANGED)

    row = AuditRecord.objects.get(action="approval_policy.bypassed")
    assert (row.object_id, row.reason) == (policy["id"], "Fire in the hall")
    assert row.after["revision"] == Override.objects.get().revision
    assert AuditRecord.objects.get(action="override.updated").reason == "Fire in the hall"
    assert Event.objects.filter(type="approval_policy.bypassed").count() == 1


def test_nobody_bypasses_without_the_permission_at_the_scope_of_the_policy(api, editor):
    protect(api, domain="production")
    below = Api(token_for("admin", scope=Scope("production", "flytesnacks")))
    before = trace()

    refused = editor.patch(f"{WEC}?{HERE}&approval_override=Fire", CHANGED)
    too_low = below.patch(f"{WEC}?{HERE}&approval_override=Fire", CHANGED)

    assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
    assert (too_low.status_code, too_low.json()["code"]) == (409, "approval_required")
    assert "you need approval.bypass at domain=production" in too_low.json()["detail"]
    assert trace()[0] == before[0]


def test_the_strictest_policy_of_the_path_holds(api):
    protect(api, 1)
    protect(api, 4, domain="production")
    protect(api, 2, project="flytesnacks", domain="production")

    problem = api.patch(f"{WEC}?{HERE}", CHANGED).json()

    assert (problem["required"], [policy["approvals"] for policy in problem["policies"]]) == (4, [4, 2, 1])


def test_a_policy_holds_neither_scopes_above_nor_beside_it_nor_what_changes_nothing(api):
    protect(api, domain="production")

    assert api.put(WEC, ATTRIBUTES).status_code == 201
    assert api.put(f"{WEC}?project=flytesnacks", ATTRIBUTES).status_code == 201
    assert api.put(f"{WEC}?project=flytesnacks&domain=staging", ATTRIBUTES).status_code == 201
    assert api.patch(f"{WEC}?{HERE}", ATTRIBUTES).status_code == 200


def test_flytes_clients_get_the_refusal_in_their_own_format(api):
    protect(api, domain="production")
    attributes = {"workflowExecutionConfig": {"maxParallelism": 20}}
    body = {"attributes": {"matchingAttributes": attributes}}

    answer = api.put("project_domain_attributes/flytesnacks/production", body)

    assert (answer.status_code, answer.json()["code"]) == (400, 9)
    assert "need 1 approval by a policy of admin" in answer.json()["message"]
    assert Override.objects.get().attributes == ATTRIBUTES["attributes"]


def test_scheduled_changes_are_held_when_scheduled_and_when_due(api):
    change = {"resource_type": "workflow_execution_config", "attributes": {"max_parallelism": 8}}
    change |= {"scope": {"project": "flytesnacks", "domain": "production"}, "at": "2999-01-01T00:00:00Z"}
    earlier = api.post("override-changes", change).json()["id"]
    protect(api, domain="production")

    held = api.post(
        "override-changes?approval_override=Fire",
        {**change, "resource_type": "task_resource", "attributes": {"limits": {"cpu": "1"}}},
    )
    OverrideChange.objects.update(due_at="2020-01-01T00:00:00Z")
    run_due_changes()

    assert (held.status_code, held.json()["code"]) == (409, "approval_required")
    due = api.get(f"override-changes/{earlier}").json()
    assert (due["state"], Override.objects.get().attributes) == ("refused", ATTRIBUTES["attributes"])
    assert "need 1 approval" in due["problem"]


def test_an_expiry_is_not_held(api):
    change = {"resource_type": "workflow_execution_config", "attributes": {"max_parallelism": 8}}
    change |= {"scope": {"project": "flytesnacks", "domain": "production"}, "until": "2999-01-01T00:00:00Z"}
    lent = api.post("override-changes", change).json()["id"]
    protect(api, domain="production")

    OverrideChange.objects.update(due_at="2020-01-01T00:00:00Z")
    run_due_changes()

    assert api.get(f"override-changes/{lent}").json()["state"] == "reverted"
    assert Override.objects.get().attributes == ATTRIBUTES["attributes"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/approvals"),
        ({"approvals": 0}, "/approvals"),
        ({"approvals": 6}, "/approvals"),
        ({"approvals": "2"}, "/approvals"),
        ({"approvals": True}, "/approvals"),
        ({"approvals": 1, "reason": "x" * 501}, "/reason"),
        ({"approvals": 1, "until": 1}, "/until"),
    ],
)
def test_bad_input_sets_nothing(api, body, pointer):
    answer = api.post("approval-policies", body)

    assert answer.status_code in (400, 422)
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert not ApprovalPolicy.objects.exists()


def test_who_may_set_a_policy_and_where(api, editor):
    local = Api(token_for("admin", scope=Scope("", "flytesnacks")))

    assert protect(editor, project="flytesnacks").status_code == 403
    assert protect(local).status_code == 403
    assert protect(local, project="flytesnacks").status_code == 201
    assert protect(api, project="nowhere").json()["code"] == "unknown_project"
    assert (protect(api, project="flytesnacks").status_code) == 409


def test_what_a_caller_may_not_read_does_not_exist(api):
    make_project("secret")
    hidden = protect(api, project="secret").json()["id"]
    above = protect(api, domain="production").json()["id"]
    local = Api(token_for("admin", scope=Scope("", "flytesnacks")))

    assert [item["id"] for item in local.get("approval-policies").json()["items"]] == [above]
    for answer in (
        local.get(f"approval-policies/{hidden}"),
        local.patch(f"approval-policies/{hidden}", {"approvals": 1}),
        local.delete(f"approval-policies/{hidden}"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_approval_policy")
    assert local.delete(f"approval-policies/{above}").status_code == 403
