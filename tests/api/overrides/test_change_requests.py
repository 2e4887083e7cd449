"""Change requests through HTTP: opened, reviewed by others, published; and what falls in between."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access.authentication import caller_for
from controlplane.access.issue_tokens import Issuer, issue_token
from controlplane.access.models import AuditRecord, Principal, RoleBinding
from controlplane.access.token_lifetimes import Unspecified
from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope
from overrides.approval_models import ChangeRequest, ChangeRequestApproval
from overrides.models import Override, OverrideVersion
from overrides.scheduled_models import OverrideChange
from overrides.scheduling.execution import run_due_changes
from tests.support.api_client import Api, make_project, token_for
from tests.support.reviewers import another_token, person

WEC = "overrides/workflow_execution_config"
HERE = "project=flytesnacks&domain=production"
SCOPE = {"project": "flytesnacks", "domain": "production"}


def request_change(api: Api, parallelism: int = 8, **more: Any) -> Any:
    what = {"resource_type": "workflow_execution_config", "scope": SCOPE}
    ways = {"patch": {"max_parallelism": parallelism}} if not {"attributes", "delete"} & set(more) else {}
    return api.post("change-requests", {**what, **ways, **more})


def approve(api: Api, request: Any, **more: Any) -> Any:
    shown = request.json()
    return api.post(f"change-requests/{shown['id']}:approve", {"digest": shown["digest"], **more})


def publish(api: Api, request: Any, body: Any = None) -> Any:
    return api.post(f"change-requests/{request.json()['id']}:publish", body or {})


def step(api: Api, request: Any, name: str, body: Any = None) -> Any:
    return api.post(f"change-requests/{request.json()['id']}:{name}", body)


def parallelism() -> int | None:
    row = Override.objects.filter(resource_type="workflow_execution_config", project="flytesnacks").first()
    return row.attributes.get("max_parallelism") if row else None


def code(answer: Any) -> tuple[int, str]:
    return (answer.status_code, answer.json().get("code", ""))


@pytest.fixture(autouse=True)
def _world(api: Api) -> None:
    make_project()
    api.put(f"{WEC}?{HERE}", {"attributes": {"max_parallelism": 4, "labels": {"values": {"a": "b"}}}})
    answer = api.post("approval-policies", {"scope": {"domain": "production"}, "approvals": 1})
    assert answer.status_code == 201


@pytest.fixture
def ada(db) -> Api:
    return person("ada", "editor")


@pytest.fixture
def grace(db) -> Api:
    return person("grace")


def test_a_change_is_requested_approved_and_published(ada, grace):
    opened = request_change(ada, message="Training", ticket="ML-1")
    shown = opened.json()

    assert (opened.status_code, shown["state"], shown["planned_version"]) == (201, "open", 1)
    assert shown["plan"]["differences"] == [{"leaf": "/max_parallelism", "before": 4, "after": 8}]
    assert (shown["plan"]["affected_scopes"], len(shown["plan"]["effective"])) == (1, 1)
    assert (shown["required_approvals"], shown["approvals"], parallelism()) == (1, [], 4)

    approved = approve(grace, opened, comment="Fine").json()
    published = publish(ada, opened).json()

    assert (approved["state"], approved["approvals"][0]["reviewer"]) == ("approved", "grace")
    assert (published["state"], published["closed_by"], parallelism()) == ("published", "ada", 8)
    assert published["revision"] == Override.objects.get().revision
    assert Override.objects.get().attributes["labels"] == {"values": {"a": "b"}}
    reason = OverrideVersion.objects.order_by("-version")[0].change_message
    assert reason == f"Change request {shown['id']} by ada, approved by grace. Training"
    assert AuditRecord.objects.get(action="override.updated").reason == reason
    steps = ["change_request.opened", "change_request.approved", "change_request.published"]
    events = Event.objects.filter(object_type="change_request").order_by("id")
    assert [event.type for event in events] == steps
    assert events[1].data["comment"] == "Fine"
    assert [
        row.action for row in AuditRecord.objects.filter(object_type="change_request").order_by("id")
    ] == steps


@pytest.mark.parametrize(
    ("more", "after"),
    [
        ({"attributes": {"max_parallelism": 6}}, {"max_parallelism": 6}),
        ({"patch": {"labels": None}}, {"max_parallelism": 4}),
        ({"delete": True}, None),
    ],
)
def test_the_three_ways_of_a_change(ada, grace, more, after):
    opened = request_change(ada, **more)
    assert opened.json()["attributes"] == after

    approve(grace, opened)
    assert publish(ada, opened).status_code == 200

    row = Override.objects.first()
    assert (row.attributes if row else None) == after


def test_without_the_approvals_nothing_is_published(api, ada, grace):
    api.post("approval-policies", {"scope": SCOPE, "approvals": 2})
    alan = person("alan")
    opened = request_change(ada)

    none = publish(ada, opened)
    first = approve(grace, opened).json()
    one = publish(ada, opened)
    second = approve(alan, opened).json()

    assert code(none) == code(one) == (409, "approval_required")
    assert (none.json()["approvals"], one.json()["approvals"], one.json()["required"]) == (0, 1, 2)
    assert "it has 1. Ask another person" in one.json()["detail"]
    assert (first["state"], second["state"], parallelism()) == ("open", "approved", 4)
    assert publish(ada, opened).status_code == 200
    assert parallelism() == 8


def test_a_policy_that_became_stricter_holds_an_approved_change(api, ada, grace):
    opened = request_change(ada)
    approve(grace, opened)
    api.post("approval-policies", {"scope": SCOPE, "approvals": 2})

    assert code(publish(ada, opened)) == (409, "approval_required")
    assert request_shown(ada, opened)["state"] == "open"


def request_shown(api: Api, request: Any) -> Any:
    return api.get(f"change-requests/{request.json()['id']}").json()


def test_nobody_approves_their_own_change_by_any_means(api, ada, grace):
    root = person("root")
    own = request_change(root)
    assert code(approve(root, own)) == (403, "not_independent")
    assert code(approve(another_token("root"), own)) == (403, "not_independent")

    # A token for somebody else, created with the author's token: the author has its secret.
    secret = root.post("tokens", {"name": "lent", "principal": "grace"}).json()["token"]
    assert code(approve(Api(secret), own)) == (403, "not_independent")
    child = Api(secret).post("tokens", {"name": "child"}).json()["token"]
    assert code(approve(Api(child), own)) == (403, "not_independent")

    # One that the author created for somebody else in the console: only the audit log says so.
    kept = issue_token(
        Principal.objects.get(name="grace"),
        "kept",
        Unspecified.EXPIRY,
        issuer=Issuer(caller_for(Principal.objects.get(name="root"))),
        actor=Actor(Principal.objects.get(name="root").id, "root"),
    )[1]
    assert code(approve(Api(kept), own)) == (403, "not_independent")

    # A service of the author.
    root.post("principals", {"name": "robot", "kind": "service"})
    RoleBinding.objects.create(principal=Principal.objects.get(name="robot"), role="admin")
    robot = Api(root.post("tokens", {"name": "robot", "principal": "robot"}).json()["token"])
    assert code(approve(robot, own)) == (403, "not_independent")
    by_robot = request_change(robot, 9)
    assert code(approve(root, by_robot)) == (403, "not_independent")
    # A service that the author's service created.
    robot.post("principals", {"name": "helper", "kind": "service"})
    RoleBinding.objects.create(principal=Principal.objects.get(name="helper"), role="editor")
    by_helper = request_change(another_token("helper"), 10)
    assert code(approve(root, by_helper)) == (403, "not_independent")

    assert not ChangeRequestApproval.objects.exists()
    assert approve(grace, own).status_code == approve(grace, by_robot).status_code == 200


def test_a_service_approves_nothing(ada):
    service = Api(token_for("admin"))
    assert code(approve(service, request_change(ada))) == (403, "not_independent")


def test_one_person_counts_once(api, ada, grace):
    api.post("approval-policies", {"scope": SCOPE, "approvals": 2})
    person("alan")
    opened = request_change(ada)
    lent = Api(grace.post("tokens", {"name": "lent", "principal": "alan"}).json()["token"])

    assert approve(grace, opened).status_code == 200
    assert code(approve(another_token("grace"), opened)) == (403, "not_independent")
    assert code(approve(lent, opened)) == (403, "not_independent")
    assert request_shown(ada, opened)["state"] == "open"


def test_a_plan_that_drifted_is_refused_and_its_approvals_fall(api, ada, grace):
    opened = request_change(ada)
    approve(grace, opened)
    api.patch(f"{WEC}?{HERE}&approval_override=Fire", {"attributes": {"max_parallelism": 5}})

    refused = publish(ada, opened)
    late = approve(person("alan"), opened)
    refreshed = step(ada, opened, "refresh").json()

    assert code(refused) == code(late) == (409, "plan_drifted")
    assert refused.json()["digest"] == refreshed["digest"] != opened.json()["digest"]
    assert (refreshed["state"], refreshed["approvals"], refreshed["planned_version"]) == ("open", [], 2)
    assert refreshed["plan"]["differences"] == [{"leaf": "/max_parallelism", "before": 5, "after": 8}]
    assert parallelism() == 5
    assert code(approve(grace, opened)) == (409, "plan_drifted")
    assert Event.objects.filter(type="change_request.refreshed").count() == 1


def test_effective_values_that_changed_are_drift_too(api, ada, grace):
    scope = {"project": "flytesnacks"}
    api.post("approval-policies", {"scope": scope, "approvals": 1})
    opened = request_change(ada, scope=scope)
    approve(grace, opened)
    # Another override decides what the change means in development.
    api.put(
        f"{WEC}?project=flytesnacks&domain=development&approval_override=Fire",
        {"attributes": {"max_parallelism": 1}},
    )

    assert code(publish(ada, opened)) == (409, "plan_drifted")


def test_a_refresh_of_the_same_plan_keeps_its_approvals(ada, grace):
    opened = request_change(ada)
    approve(grace, opened)

    refreshed = step(ada, opened, "refresh").json()

    assert (refreshed["state"], len(refreshed["approvals"])) == ("approved", 1)
    assert not Event.objects.filter(type="change_request.refreshed").exists()


def test_rejected_withdrawn_and_published_are_final(ada, grace):
    rejected, withdrawn, published = (request_change(ada, number) for number in (6, 7, 8))
    step(grace, rejected, "reject", {"comment": "Too many"})
    step(ada, withdrawn, "withdraw")
    approve(grace, published)
    publish(ada, published)

    for request, state in ((rejected, "rejected"), (withdrawn, "withdrawn"), (published, "published")):
        shown = request_shown(ada, request)
        assert (shown["state"], shown["closed_at"] is not None) == (state, True)
        for answer in (
            approve(grace, request),
            publish(ada, request),
            step(ada, request, "refresh"),
            step(ada, request, "withdraw"),
            step(grace, request, "reject", {"comment": "No"}),
        ):
            assert code(answer) == (409, "conflict")
    assert OverrideVersion.objects.count() == 2
    event = Event.objects.get(type="change_request.rejected")
    assert event.data["comment"] == "Too many"


def test_an_author_who_lost_the_role_publishes_nothing_not_even_by_others(ada, grace):
    opened = request_change(ada)
    approve(grace, opened)
    RoleBinding.objects.filter(principal__name="ada").delete()

    assert code(publish(grace, opened)) == (403, "permission_denied")
    assert parallelism() == 4


def test_a_freeze_holds_an_approved_change_unless_it_is_overridden(api, ada, grace):
    opened = request_change(ada)
    approve(grace, opened)
    api.post("override-freezes", {"scope": SCOPE, "ends_at": "2999-01-01T00:00:00Z", "reason": "Sale"})
    path = f"change-requests/{opened.json()['id']}:publish"

    assert code(publish(ada, opened)) == (409, "change_frozen")
    assert grace.post(f"{path}?override_freeze=Fire", {}).status_code == 200
    assert parallelism() == 8


def test_a_change_is_published_for_later_and_checked_again(api, ada, grace):
    opened = request_change(ada)
    approve(grace, opened)

    published = publish(grace, opened, {"at": "2999-01-01T00:00:00Z"}).json()
    scheduled = api.get(f"override-changes/{published['scheduled_change_id']}").json()

    assert (published["state"], published["revision"], parallelism()) == ("published", None, 4)
    assert (scheduled["state"], scheduled["created_by"]) == ("scheduled", "ada")
    OverrideChange.objects.update(due_at="2020-01-01T00:00:00Z")
    run_due_changes()
    assert parallelism() == 8
    assert "approved by grace" in OverrideVersion.objects.order_by("-version")[0].change_message


def test_a_published_change_of_later_is_refused_under_a_stricter_policy_or_another_plan(api, ada, grace):
    scope = {"project": "flytesnacks"}
    api.post("approval-policies", {"scope": scope, "approvals": 1})
    strict = request_change(ada)
    drifting = request_change(ada, scope=scope)
    for request in (strict, drifting):
        approve(grace, request)
        publish(grace, request, {"at": "2999-01-01T00:00:00Z"})
    api.post("approval-policies", {"scope": SCOPE, "approvals": 2})
    api.put(
        f"{WEC}?project=flytesnacks&domain=development&approval_override=Fire",
        {"attributes": {"max_parallelism": 1}},
    )

    OverrideChange.objects.update(due_at="2020-01-01T00:00:00Z")
    run_due_changes()

    problems = dict(OverrideChange.objects.values_list("domain", "problem"))
    assert "need 2 approvals" in problems["production"]
    assert "Refresh the change request" in problems[""]
    assert parallelism() in (1, 4)


def test_where_no_policy_is_one_person_must_still_approve(ada, grace):
    opened = request_change(ada, scope={"project": "flytesnacks", "domain": "staging"})

    assert code(publish(ada, opened)) == (409, "conflict")
    approve(grace, opened)
    assert publish(ada, opened).status_code == 200


def test_lists_are_filtered(api, ada, grace):
    first = request_change(ada).json()["id"]
    other = request_change(ada, scope={"project": "flytesnacks", "domain": "staging"}).json()["id"]
    own = request_change(grace, 9).json()["id"]
    far = Api(token_for("admin", scope=Scope("", "elsewhere")))

    def ids(api: Api, query: str) -> list[str]:
        return [item["id"] for item in api.get(f"change-requests?{query}").json()["items"]]

    assert ids(grace, "assigned=me") == [first, other]
    assert ids(ada, "assigned=me") == []
    assert (ids(ada, "mine=true"), ids(grace, "mine=true")) == ([first, other], [own])
    assert ids(api, "domain=staging") == [other]
    assert ids(api, "state=rejected") == ids(far, "") == []
    api_answer = grace.post(
        f"change-requests/{first}:approve", {"digest": grace.get(f"change-requests/{first}").json()["digest"]}
    )
    assert api_answer.status_code == 200
    assert (ids(grace, "assigned=me"), ids(grace, "state=approved")) == ([other], [first])


def test_comments_are_kept_in_order_in_every_state(ada, grace):
    opened = request_change(ada)
    path = f"change-requests/{opened.json()['id']}/comments"
    viewer = person("vera", "viewer")

    assert viewer.post(path, {"text": "Mine too"}).status_code == 403
    assert grace.post(path, {"text": "For how long?"}).status_code == 201
    step(ada, opened, "withdraw")
    shown = ada.post(path, {"text": "Never mind"}).json()

    assert [(one["author"], one["text"]) for one in shown["comments"]] == [
        ("grace", "For how long?"),
        ("ada", "Never mind"),
    ]
    assert Event.objects.filter(type="change_request.commented").count() == 2


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"patch": {}, "delete": True}, ""),
        ({}, ""),
        ({"patch": {"max_parallelism": -1}}, "/attributes/max_parallelism"),
        ({"patch": {"max_parallelism": 4}}, ""),
        ({"patch": {"max_parallelism": 5}, "message": "x" * 401}, "/message"),
        ({"patch": {"max_parallelism": 5}, "ticket": 7}, "/ticket"),
        ({"patch": {"max_parallelism": 5}, "at": "2999-01-01T00:00:00Z"}, "/at"),
    ],
)
def test_bad_input_opens_nothing(ada, body, pointer):
    answer = ada.post(
        "change-requests", {"resource_type": "workflow_execution_config", "scope": SCOPE, **body}
    )

    assert answer.status_code in (400, 422), answer.json()
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert not ChangeRequest.objects.exists()


@pytest.mark.parametrize(
    ("name", "body", "pointer"),
    [
        ("approve", {}, "/digest"),
        ("approve", {"digest": 7}, "/digest"),
        ("reject", {}, "/comment"),
        ("reject", {"comment": ""}, "/comment"),
        ("publish", {"at": "2020-01-01T00:00:00Z"}, "/at"),
        ("publish", {"at": "soon"}, "/at"),
    ],
)
def test_bad_input_of_a_step_changes_nothing(ada, grace, name, body, pointer):
    opened = request_change(ada)
    approve(grace, opened)

    answer = step(grace, opened, name, body)

    assert answer.status_code in (400, 422), answer.json()
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert request_shown(ada, opened)["state"] == "approved"


def test_a_dry_run_opens_and_publishes_nothing(ada, grace):
    body = {"resource_type": "workflow_execution_config", "scope": SCOPE, "patch": {"max_parallelism": 8}}
    assert ada.post("change-requests?dry_run=true", body).status_code == 201
    assert not ChangeRequest.objects.exists()
    opened = request_change(ada)
    approve(grace, opened)

    answer = ada.post(f"change-requests/{opened.json()['id']}:publish?dry_run=true", {})

    assert (answer.status_code, answer.json()["state"], parallelism()) == (200, "published", 4)
    assert request_shown(ada, opened)["state"] == "approved"


def test_who_may_request_review_and_publish(ada, grace):
    opened = request_change(ada)
    path = f"change-requests/{opened.json()['id']}"
    viewer, editor = person("vera", "viewer"), person("ed", "editor")
    other = Api(token_for("admin", scope=Scope("", "other")))

    assert request_change(viewer).status_code == 403
    assert viewer.get(path).status_code == 200
    for name in ("withdraw", "refresh", "publish"):
        assert step(viewer, opened, name, {}).status_code == 403
    for name in ("approve", "reject"):
        assert step(editor, opened, name, {"digest": "x", "comment": "x"}).status_code == 403
    for name in ("approve", "reject", "withdraw", "refresh", "publish"):
        assert code(step(other, opened, name, {})) == (404, "unknown_change_request")
    assert (
        code(other.get(path))
        == code(other.post(f"{path}/comments", {"text": "x"}))
        == (
            404,
            "unknown_change_request",
        )
    )
