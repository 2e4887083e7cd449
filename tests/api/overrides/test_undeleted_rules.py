"""Restoring deleted guard rails and resource types: as they were, once, and only by those who may."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from overrides.models import GuardRailRow, TypeDefinition
from tests.support.api_client import Api, make_project, token_for

RAIL = "guard-rails/parallelism"
BODY = {
    "name": "parallelism",
    "scope": {"project": "ads"},
    "resource_type": "workflow_execution_config",
    "pointer": "/max_parallelism",
    "rule": {"maximum": 10},
    "reason": "The cluster is small.",
}
TYPE = "resource-types/queue_limits"
DEFINITION = {
    "name": "queue_limits",
    "strategy": "merge",
    "schema": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"depth": {"type": "integer"}},
    },
}


@pytest.fixture
def api(db: None) -> Api:
    make_project("ads")
    return Api(token_for("admin"))


@pytest.fixture
def without_rail(api: Api) -> Api:
    assert api.put(RAIL, BODY).status_code == 201
    changed = {**BODY, "rule": {"maximum": 5}}
    assert api.put(RAIL, changed, If_Match='"v1"').status_code == 200
    assert api.delete(RAIL, If_Match='"v2"').status_code == 204
    return api


def shown(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_a_deleted_guard_rail_is_restored_as_its_last_version_was(without_rail: Api) -> None:
    planned = shown(without_rail.post(f"{RAIL}:undelete?dry_run=true"))
    assert (planned["version"], without_rail.get(RAIL).status_code) == (3, 404)

    restored = shown(without_rail.post(f"{RAIL}:undelete?change_message=Oops."))

    assert (restored["version"], restored["rule"], restored["reason"]) == (3, {"maximum": 5}, BODY["reason"])
    assert without_rail.get(RAIL).json()["rule"] == {"maximum": 5}
    assert AuditRecord.objects.get(reason="Oops.").action == "guard_rail.set"
    assert Event.objects.filter(object_type="guard_rail").latest("id").type == "guard_rail.set"


def test_a_guard_rail_that_values_break_by_now_asks_first(without_rail: Api) -> None:
    path = "overrides/workflow_execution_config?project=ads&domain=production"
    assert without_rail.put(path, {"attributes": {"max_parallelism": 9}}).status_code == 201
    refused = without_rail.post(f"{RAIL}:undelete")
    assert (refused.status_code, refused.json()["code"]) == (409, "still_in_use")
    assert shown(without_rail.post(f"{RAIL}:undelete?dry_run=true&accept_existing=true"))
    assert shown(without_rail.post(f"{RAIL}:undelete?accept_existing=true"))["version"] == 3


def test_what_is_not_deleted_or_never_was_is_not_restored(api: Api) -> None:
    assert api.post(f"{RAIL}:undelete").json()["code"] == "unknown_guard_rail"
    assert api.post(f"{TYPE}:undelete").json()["code"] == "unknown_resource_type"
    assert api.post("resource-types/task_resource:undelete").json()["code"] == "unknown_resource_type"
    api.put(RAIL, BODY)
    api.post("resource-types", DEFINITION)

    for path in (RAIL, TYPE):
        present = api.post(f"{path}:undelete")
        assert (present.status_code, "version 1 applies" in present.json()["detail"]) == (409, True)
    assert (GuardRailRow.objects.count(), TypeDefinition.objects.count()) == (1, 1)


def test_only_those_who_may_write_it_restore_it(without_rail: Api) -> None:
    assert Api(token_for("viewer")).post(f"{RAIL}:undelete").status_code == 403
    assert Api(token_for("viewer")).post(f"{TYPE}:undelete").status_code == 403
    assert GuardRailRow.objects.filter(until_revision=None).count() == 0


def test_a_deleted_type_is_restored_and_can_be_set_again(api: Api) -> None:
    assert api.post("resource-types", DEFINITION).status_code == 201
    assert api.delete(TYPE, If_Match='"v1"').status_code == 204
    override = "overrides/queue_limits?project=ads"
    assert api.put(override, {"attributes": {"depth": 3}}).status_code == 404
    assert shown(api.post(f"{TYPE}:undelete?dry_run=true"))["version"] == 2
    assert api.get(TYPE).status_code == 404

    assert shown(api.post(f"{TYPE}:undelete"))["version"] == 2

    assert api.put(override, {"attributes": {"depth": 3}}).status_code == 201
