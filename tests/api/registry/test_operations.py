"""Operations: one view of bulk changes, resources and replays, as visible as they are."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from controlplane.delivery.models import Replay, Sink
from controlplane.identity.roles import Role
from registry.bulk_changes import execution
from registry.bulk_changes.decisions import BulkState
from registry.bulk_changes.models import AgentBulkChange
from registry.operations.decisions import OperationState
from registry.operations.sources import SOURCES
from tests.api.registry.test_bulk_changes import fleet, started
from tests.support.api_client import ADMINISTRATOR, Api, token_for
from tests.support.two_teams import OTHER, make_two_teams, member_of


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ["203.0.113.0/24"]


def operation(api: Api, operation_id: str) -> dict[str, Any]:
    answer = api.get(f"operations/{operation_id}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def request_disk(api: Api, name: str = "disk") -> str:
    answer = api.post(f"resources?id={name}", {"service_type": "storage", "spec": {}})
    assert answer.status_code == 202, answer.content
    assert answer["Operation-Location"] == f"/api/v1/operations/resource.{name}"
    return f"resource.{name}"


def request_replay(api: Api) -> str:
    sink = api.post("sinks", {"name": "all", "config": {"url": "https://203.0.113.7/hook"}})
    assert sink.status_code == 201, sink.content
    answer = api.post(f"sinks/{sink.json()['id']}:replay", {"after_seq": 0})
    assert answer.status_code == 202, answer.content
    return answer["Operation-Location"].removeprefix("/api/v1/operations/")


def test_a_bulk_change_is_pending_then_running_then_done(api):
    fleet(api, 2)
    change = started(api, allow_last_agents=True, batch_size=1, pause_seconds=3600)
    pending = api.get(f"operations/agent_bulk_change.{change}")
    execution.run_bulk_changes()
    running = operation(api, f"agent_bulk_change.{change}")
    AgentBulkChange.objects.update(due_at="2020-01-01T00:00:00Z")
    execution.run_bulk_changes()
    done = api.get(f"operations/agent_bulk_change.{change}")

    assert (pending.json()["state"], pending.json()["start_time"]) == ("pending", None)
    assert pending["Retry-After"]
    assert (running["state"], running["progress"]) == ("running", {"done": 1, "total": 2})
    assert (running["done"], running["result"], running["can_cancel"]) == (False, None, True)
    assert (done.json()["state"], done.json()["done"]) == ("succeeded", True)
    assert done.json()["result"]["link"] == done.json()["target"] == f"/api/v1/agent-bulk-changes/{change}"
    assert done.json()["end_time"]
    assert "Retry-After" not in done


def test_failed_agents_and_a_stop_are_errors(api):
    fleet(api, 2)
    change = started(api, allow_last_agents=True)
    AgentBulkChange.objects.update(state="done", done=1, failed=1)
    failed = operation(api, f"agent_bulk_change.{change}")
    AgentBulkChange.objects.update(state="stopped", problem="The author lost the right.")
    stopped = operation(api, f"agent_bulk_change.{change}")

    assert (failed["state"], failed["error"]["code"]) == ("failed", "agents_failed")
    assert stopped["error"] == {"code": "bulk_change_stopped", "detail": "The author lost the right."}


def test_a_resource_is_created_cancelled_and_deleted(api):
    disk = request_disk(api)
    created = operation(api, disk)
    cancelled = api.post(f"operations/{disk}:cancel?change_message=Why")
    again = operation(api, disk)
    api.delete("resources/disk")
    deleted = operation(api, disk)

    assert (created["kind"], created["action"], created["state"]) == ("resource", "create", "pending")
    assert created["can_cancel"] is True
    assert cancelled.status_code == 200
    assert (again["state"], again["action"], again["can_cancel"]) == ("cancelled", "cancel", False)
    assert (deleted["state"], deleted["action"]) == ("succeeded", "delete")
    assert AuditRecord.objects.filter(object_type="resource", object_id="disk").count() >= 2


def test_a_replay_is_running_and_cannot_be_cancelled(api):
    replay = request_replay(api)
    running = operation(api, replay)
    refused = api.post(f"operations/{replay}:cancel")
    Sink.objects.update(state="paused")
    pending = operation(api, replay)
    Replay.objects.update(ended_at="2026-11-21T09:30:00Z", remaining=99_990)
    ended = operation(api, replay)

    assert (running["state"], running["progress"]) == ("running", {"done": 0, "total": None})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert pending["state"] == "pending"
    assert (ended["state"], ended["progress"]) == ("succeeded", {"done": 10, "total": 10})


def test_cancelling_a_bulk_change_is_that_of_the_bulk_change(api):
    fleet(api, 2)
    change = started(api)

    rehearsed = api.post(f"operations/agent_bulk_change.{change}:cancel?dry_run=true")
    assert rehearsed.json()["state"] == "cancelled"
    assert operation(api, f"agent_bulk_change.{change}")["state"] == "pending"
    assert api.post(f"operations/agent_bulk_change.{change}:cancel").json()["state"] == "cancelled"
    assert api.get(f"agent-bulk-changes/{change}").json()["state"] == "cancelled"
    assert api.post(f"operations/agent_bulk_change.{change}:cancel").status_code == 409


def test_operations_of_another_team_do_not_exist(api):
    world = make_two_teams(api)
    ours = member_of(world.ours, Role.OPERATOR)
    foreign = f"agent_bulk_change.{started(api, selector={'team': OTHER}, allow_last_agents=True)}"
    others = (foreign, request_disk(api), request_replay(api))

    for other in others:
        assert ours.get(f"operations/{other}").status_code == 404
        assert ours.post(f"operations/{other}:cancel").status_code == 404
    assert ours.get("operations").json()["items"] == []
    assert {item["id"] for item in api.get("operations").json()["items"]} == set(others)


def test_a_reader_sees_but_does_not_cancel(api):
    fleet(api, 2)
    change, disk = started(api), request_disk(api)
    viewer = Api(token_for("viewer"))

    for shown in (f"agent_bulk_change.{change}", disk):
        assert operation(viewer, shown)["done"] is False
        assert viewer.post(f"operations/{shown}:cancel").status_code == 403


def test_pages_have_each_operation_once_newest_first(api):
    fleet(api, 2)
    made = [request_disk(api, "b"), f"agent_bulk_change.{started(api)}", request_disk(api, "a")]
    made += [request_replay(api), f"agent_bulk_change.{started(api)}"]

    listed: list[str] = []
    query = "limit=2&include_total=estimate"
    answer = api.get(f"operations?{query}").json()
    assert answer["total"] == {"count": 5, "is_exact": True}
    while answer["next_cursor"]:
        listed += [item["id"] for item in answer["items"]]
        answer = api.get(f"operations?{query}&cursor={answer['next_cursor']}").json()
    listed += [item["id"] for item in answer["items"]]
    assert listed == made[::-1]


def test_operations_of_one_instant_are_each_listed_once(api):
    fleet(api, 2)
    for name in ("a", "b", "c"):
        request_disk(api, name)
    started(api)
    request_replay(api)
    for source in SOURCES.values():
        source.rows(ADMINISTRATOR).model.objects.update(created_at="2026-11-21T09:30:00Z")

    listed: list[str] = []
    answer = api.get("operations?limit=1").json()
    while answer["next_cursor"]:
        listed += [item["id"] for item in answer["items"]]
        answer = api.get(f"operations?limit=1&cursor={answer['next_cursor']}").json()
    listed += [item["id"] for item in answer["items"]]
    assert len(listed) == len(set(listed)) == 5


def test_the_filter_by_state_agrees_with_the_state_that_is_shown(api):
    fleet(api, 2)
    change = started(api)
    disk, _ = request_disk(api), request_replay(api)
    for state in BulkState:
        for failed in (0, 1):
            AgentBulkChange.objects.filter(id=change).update(state=state.value, failed=failed)
            shown = {item["id"]: item["state"] for item in api.get("operations").json()["items"]}
            for wanted in OperationState:
                found = {item["id"] for item in api.get(f"operations?state={wanted}").json()["items"]}
                assert found == {name for name, seen in shown.items() if seen == wanted}
    assert [item["id"] for item in api.get("operations?kind=resource").json()["items"]] == [disk]


@pytest.mark.parametrize(
    "unknown",
    [
        "x",
        "job.1",
        "resource.none",
        "agent_bulk_change.x",
        "sink_replay.0",
        "sink_replay.99",
        "sink_replay.x",
    ],
)
def test_unknown_ids_are_404(api, unknown):
    for answer in (api.get(f"operations/{unknown}"), api.post(f"operations/{unknown}:cancel")):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_operation")


@pytest.mark.parametrize("query", ["?state=asleep", "?kind=job", "?x=1", "?cursor=x"])
def test_bad_parameters_are_refused(api, query):
    assert api.get(f"operations{query}").status_code == 400


def test_a_preference_is_applied_once_it_is_done_and_ignored_if_unreadable(api):
    disk = request_disk(api)
    api.post(f"operations/{disk}:cancel")

    assert api.get(f"operations/{disk}", Prefer="wait=99")["Preference-Applied"] == "wait=30"
    assert "Preference-Applied" not in api.get(f"operations/{disk}", Prefer="wait=soon")
