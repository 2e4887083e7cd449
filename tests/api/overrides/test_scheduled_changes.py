"""Scheduled and expiring changes through HTTP and the worker's task."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F

from controlplane.access.models import AuditRecord, RoleBinding
from controlplane.events.models import Event
from controlplane.scopes import Scope
from overrides.models import Override, OverrideVersion
from overrides.scheduled_models import OverrideChange
from overrides.tasks import run_due_changes
from tests.support.api_client import Api, make_project, token_for

WEC = "overrides/workflow_execution_config"
HERE = "project=flytesnacks&domain=production"
SCOPE = {"project": "flytesnacks", "domain": "production"}
DAY = timedelta(days=1)


def in_days(days: float) -> str:
    return (datetime.now(UTC) + days * DAY).isoformat()


def schedule(api: Api, parallelism: int = 8, **more: Any) -> Any:
    what = {"resource_type": "workflow_execution_config", "scope": SCOPE}
    ways = {"attributes": {"max_parallelism": parallelism}} if not {"patch", "delete"} & set(more) else {}
    return api.post("override-changes", {**what, **ways, **more})


def pass_days(days: int) -> None:
    """Move what is to come nearer, as if time had passed, and let the worker look."""
    for name in ("at", "until", "due_at"):
        OverrideChange.objects.update(**{name: F(name) - days * DAY})
    run_due_changes()


def state(answer: Any, api: Api) -> Any:
    return api.get(f"override-changes/{answer.json()['id']}").json()


def parallelism() -> int | None:
    row = Override.objects.first()
    return row.attributes.get("max_parallelism") if row else None


@pytest.fixture(autouse=True)
def _world(api: Api) -> None:
    make_project()
    assert (
        api.put(
            f"{WEC}?{HERE}", {"attributes": {"max_parallelism": 4, "labels": {"values": {"a": "b"}}}}
        ).status_code
        == 201
    )


def test_eight_until_friday_then_four_again(api):
    answer = schedule(api, patch={"max_parallelism": 8}, until=in_days(2), message="Training")

    shown = answer.json()
    assert (answer.status_code, shown["state"], shown["applied_version"]) == (201, "applied", 2)
    assert (shown["before"]["max_parallelism"], parallelism()) == (4, 8)
    pass_days(1)
    assert (state(answer, api)["state"], parallelism()) == ("applied", 8)
    pass_days(2)

    done = state(answer, api)
    assert (done["state"], done["due_at"], done["problem"]) == ("reverted", None, "")
    assert Override.objects.get().attributes == {"max_parallelism": 4, "labels": {"values": {"a": "b"}}}
    assert "Training" in OverrideVersion.objects.order_by("-version")[0].change_message
    events = Event.objects.filter(object_type="override_change").order_by("id")
    assert [event.type for event in events] == ["override_change.applied", "override_change.reverted"]
    assert AuditRecord.objects.filter(object_type="override_change").count() == 2


def test_a_change_of_tomorrow_is_applied_then_and_once(api):
    answer = schedule(api, at=in_days(1))
    assert (answer.json()["state"], parallelism()) == ("scheduled", 4)

    pass_days(2)
    run_due_changes()

    assert (state(answer, api)["state"], parallelism()) == ("applied", 8)
    assert OverrideVersion.objects.count() == 2


def test_a_deletion_is_scheduled_and_undone(api):
    answer = schedule(api, delete=True, at=in_days(1), until=in_days(3))

    pass_days(2)
    assert parallelism() is None
    pass_days(2)

    assert (state(answer, api)["state"], parallelism()) == ("reverted", 4)


def test_a_plan_for_another_version_is_refused_with_who_changed_it(api):
    answer = schedule(api, at=in_days(1))
    api.patch(f"{WEC}?{HERE}", {"attributes": {"max_parallelism": 5}})

    pass_days(2)

    refused = state(answer, api)
    assert (refused["state"], parallelism()) == ("refused", 5)
    assert "at version 2; expected was version 1" in refused["problem"]
    assert Event.objects.filter(type="override_change.refused").count() == 1


def test_an_expiry_does_not_undo_what_somebody_changed_since(api):
    answer = schedule(api, until=in_days(1))
    api.patch(f"{WEC}?{HERE}", {"attributes": {"max_parallelism": 6}})

    pass_days(2)

    refused = state(answer, api)
    assert (refused["state"], parallelism()) == ("refused", 6)
    assert "Its values stay" in refused["problem"]


def test_an_author_who_lost_the_role_changes_nothing_but_what_expires_still_does(api):
    author = Api(token_for("editor"))
    lasting = schedule(author, at=in_days(1))
    expiring = author.post(
        "override-changes",
        {
            "resource_type": "execution_queue",
            "scope": SCOPE,
            "attributes": {"tags": ["gpu"]},
            "until": in_days(1),
        },
    )
    assert expiring.status_code == 201, expiring.json()
    RoleBinding.objects.filter(role="editor").delete()

    pass_days(2)

    refused = state(lasting, api)
    assert (refused["state"], parallelism()) == ("refused", 4)
    assert "no longer has override.write" in refused["problem"]
    assert state(expiring, api)["state"] == "reverted"


def test_a_freeze_refuses_a_change_and_holds_an_expiry_back(api):
    expiring = schedule(api, until=in_days(1))
    freeze = api.post("override-freezes", {"scope": SCOPE, "ends_at": in_days(5), "reason": "Sale"}).json()

    known = api.post(
        "override-changes",
        {
            "resource_type": "execution_queue",
            "scope": SCOPE,
            "attributes": {"tags": ["gpu"]},
            "at": in_days(2),
        },
    )
    pass_days(2)

    assert (known.status_code, known.json()["code"]) == (409, "change_frozen")
    waiting = state(expiring, api)
    assert (waiting["state"], parallelism()) == ("applied", 8)
    assert "froze overrides" in waiting["problem"]
    api.post(f"override-freezes/{freeze['id']}:end")
    run_due_changes()
    assert (state(expiring, api)["state"], parallelism()) == ("reverted", 4)


def test_what_is_pending_is_cancelled_once_and_keeps_its_values(api):
    planned = schedule(api, at=in_days(1))
    second = schedule(api, at=in_days(3))

    cancelled = api.post(f"override-changes/{planned.json()['id']}:cancel")
    expiring = schedule(api, until=in_days(1))
    kept = api.post(f"override-changes/{expiring.json()['id']}:cancel")
    pass_days(2)

    assert (second.status_code, second.json()["code"]) == (409, "conflict")
    assert (cancelled.json()["state"], kept.json()["state"]) == ("cancelled", "cancelled")
    assert parallelism() == 8
    again = api.post(f"override-changes/{planned.json()['id']}:cancel")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({}, "/at"),
        ({"at": "2020-01-01T00:00:00Z"}, "/at"),
        ({"at": "soon"}, "/at"),
        ({"until": "2020-01-01T00:00:00Z"}, "/until"),
        ({"at": "2999-01-02T00:00:00Z", "until": "2999-01-01T00:00:00Z"}, "/until"),
        ({"at": "2999-01-02T00:00:00Z", "delete": True, "patch": {}}, ""),
        ({"at": "2999-01-02T00:00:00Z", "patch": {"max_parallelism": -1}}, "/attributes/max_parallelism"),
        ({"at": "2999-01-02T00:00:00Z", "when": 1}, "/when"),
    ],
)
def test_bad_input_schedules_nothing(api, more, pointer):
    answer = schedule(api, **more)

    assert answer.status_code in (400, 422), answer.json()
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert not OverrideChange.objects.exists()
    assert parallelism() == 4


def test_a_dry_run_schedules_nothing(api):
    body = {"resource_type": "workflow_execution_config", "scope": SCOPE, "delete": True, "until": in_days(1)}
    before = (AuditRecord.objects.count(), Event.objects.count())

    answer = api.post("override-changes?dry_run=true", body)

    assert (answer.status_code, parallelism()) == (201, 4)
    assert not OverrideChange.objects.exists()
    assert (AuditRecord.objects.count(), Event.objects.count()) == before


def test_who_may_schedule_read_and_cancel(api):
    change = schedule(api, at=in_days(1)).json()["id"]
    viewer = Api(token_for("viewer"))
    other = Api(token_for("admin", scope=Scope("", "other")))

    assert schedule(viewer, at=in_days(1)).status_code == 403
    assert viewer.get(f"override-changes/{change}").status_code == 200
    assert viewer.post(f"override-changes/{change}:cancel").status_code == 403
    for answer in (other.get(f"override-changes/{change}"), other.post(f"override-changes/{change}:cancel")):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_override_change")
    assert other.get("override-changes").json()["items"] == []


def test_what_a_scope_inherits_is_listed_with_when_it_ends(api):
    api.put("overrides/workflow_execution_config?project=flytesnacks", {"attributes": {"max_parallelism": 4}})
    here, global_one, elsewhere = (
        schedule(api, scope=scope, at=in_days(1)).json()["id"]
        for scope in (SCOPE, {}, {"project": "flytesnacks", "domain": "staging"})
    )
    ended = schedule(api, 9, scope={"domain": "production"}, at=in_days(2)).json()["id"]
    api.post(f"override-changes/{ended}:cancel")

    def affecting(query: str, caller: Api = api) -> list[str]:
        return [item["id"] for item in caller.get(f"override-changes?affecting=true&{query}").json()["items"]]

    assert affecting(f"{HERE}&workflow=train") == [here, global_one]
    assert affecting("project=flytesnacks&domain=staging") == [global_one, elsewhere]
    assert affecting(f"{HERE}&resource_type=task_resource") == []
    # Who reads one project sees what it inherits, as in its effective values.
    viewer = Api(token_for("viewer", scope=Scope(project="flytesnacks")))
    assert affecting(HERE, viewer) == [here, global_one]
    assert viewer.get("override-changes?affecting=true").status_code == 403
    assert api.get("override-changes?affecting=true&workflow=train").status_code == 422
