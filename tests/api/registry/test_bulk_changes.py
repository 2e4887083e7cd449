"""Bulk changes of agents: selection, confirmation, guards, rights, cancelling and undoing."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controlplane.access.models import AuditRecord, Principal, RoleBinding
from controlplane.identity.roles import Role
from registry.agents.models import Agent
from registry.bulk_changes import execution
from registry.bulk_changes.models import AgentBulkChange, AgentBulkChangeItem
from tests.support.api_client import AGENT, Api, token_for
from tests.support.two_teams import OTHER, OURS, PLATFORM, make_two_teams, member_of

PROD = {"environment": "prod"}


def register(api: Api, *names: str, **more: Any) -> list[str]:
    answers = [
        api.post("agents", {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}", **more})
        for name in names
    ]
    return [answer.json()["agent_id"] for answer in answers]


def fleet(api: Api, count: int, **more: Any) -> list[str]:
    return register(api, *(f"a{number:02}" for number in range(count)), **more)


def start(api: Api, verb: str = "drain", query: str = "", **body: Any) -> Any:
    return api.post(f"agents:{verb}{query}", {"selector": PROD, "reason": "Kernel update.", **body})


def started(api: Api, verb: str = "drain", **body: Any) -> str:
    answer = start(api, verb, **{"pause_seconds": 0, **body})
    assert answer.status_code == 202, answer.content
    return answer.json()["id"]


def shown(api: Api, change: str) -> dict[str, Any]:
    return api.get(f"agent-bulk-changes/{change}").json()


def states() -> dict[str, str]:
    return dict(Agent.objects.order_by("name").values_list("name", "state"))


def outcomes(api: Api, change: str) -> dict[str, str]:
    items = api.get(f"agent-bulk-changes/{change}/agents").json()["items"]
    return {item["name"]: item["state"] for item in items}


def test_a_bulk_drain_changes_each_agent_by_the_ordinary_transition(api):
    fleet(api, 3)
    register(api, "elsewhere", environment="dev")

    answer = start(api, pause_seconds=0)

    change = answer.json()
    assert (answer.status_code, change["state"], change["counts"]["pending"]) == (202, "running", 3)
    assert answer["Location"] == f"/api/v1/agent-bulk-changes/{change['id']}"
    execution.run_bulk_changes()
    assert states() == {"a00": "draining", "a01": "draining", "a02": "draining", "elsewhere": "ready"}
    done = shown(api, change["id"])
    assert (done["state"], done["counts"]["done"], done["due_at"]) == ("done", 3, None)
    for agent in Agent.objects.filter(environment="prod"):
        assert agent.drain_reason == "Kernel update."
        audit = AuditRecord.objects.get(
            object_id=str(agent.id), action="agent.changed", after__state="draining"
        )
        assert change["id"] in audit.reason
        events = api.get(f"events?after=0&object_type=agent&object_id={agent.id}").json()["items"]
        assert [event["type"] for event in events].count("agent.draining") == 1
    of_change = api.get("events?after=0&object_type=agent_bulk_change").json()["items"]
    assert [event["type"] for event in of_change] == ["agent_bulk_change.started", "agent_bulk_change.done"]


def test_batches_pause(api):
    fleet(api, 5)
    change = start(api, batch_size=2, pause_seconds=60).json()["id"]

    execution.run_bulk_changes()
    assert shown(api, change)["counts"]["done"] == 2
    execution.run_bulk_changes()
    assert shown(api, change)["counts"]["done"] == 2
    AgentBulkChange.objects.update(due_at=datetime.now(UTC) - timedelta(seconds=1))
    execution.run_bulk_changes()
    assert shown(api, change)["counts"] == {
        **dict.fromkeys(("failed", "skipped", "undone", "kept"), 0),
        **{"total": 5, "done": 4, "pending": 1},
    }


def test_more_than_ten_agents_need_their_number(api):
    fleet(api, 11)

    refused = start(api)
    assert (refused.status_code, refused.json()["code"]) == (409, "confirmation_required")
    assert (refused.json()["confirm"], refused.json()["affected"]) == ("11", 11)
    assert start(api, confirm=10).status_code == 409
    assert not AgentBulkChange.objects.exists()
    assert start(api, confirm=11).status_code == 202


def test_a_few_agents_need_no_number_but_a_wrong_one_is_refused(api):
    fleet(api, 2)

    assert start(api, confirm=3).status_code == 409
    assert start(api, confirm=2).status_code == 202


def test_all_agents_need_their_number_however_few(api):
    fleet(api, 2)

    assert start(api, selector={}).json()["confirm"] == "2"
    assert start(api, selector={}, confirm=2).status_code == 202


def test_a_dry_run_answers_the_impact_and_is_never_refused(api):
    fleet(api, 12, task_types=[{"name": "spark", "version": "v1"}])
    [first] = Agent.objects.filter(name="a00").values_list("id", flat=True)
    api.post(f"agents/{first}:drain", {"reason": "x"})

    answer = start(api, query="?dry_run=true")

    assert (answer.status_code, answer["Dry-Run"]) == (202, "true")
    assert answer.json()["impact"] == {
        "agents": 11,
        "unchanged": 1,
        "by_state": {"ready": 11},
        "environment_count": 1,
        "by_environment": {"prod": 11},
        "last_agents": [{"environment": "prod", "task_type": "spark"}],
        "work_in_progress": 0,
        "confirm": 11,
    }
    assert not AgentBulkChange.objects.exists()


def test_the_last_ready_agent_of_a_task_type_needs_permission(api):
    fleet(api, 2, task_types=[{"name": "spark", "version": "v1"}])

    refused = start(api)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "spark" in refused.json()["detail"]
    change = started(api, allow_last_agents=True)
    execution.run_bulk_changes()
    assert shown(api, change)["counts"]["done"] == 2


def test_each_named_agent_has_an_outcome(api):
    ids = fleet(api, 4)
    api.post(f"agents/{ids[0]}:drain", {"reason": "x"})
    api.post(f"agents/{ids[1]}:retire", {"reason": "x"})

    change = started(api, selector={"agent_ids": ids[:3]})
    counts = shown(api, change)["counts"]
    assert (counts["total"], counts["pending"], counts["skipped"]) == (3, 1, 2)
    execution.run_bulk_changes()

    assert outcomes(api, change) == {"a00": "skipped", "a01": "skipped", "a02": "done"}
    items = api.get(f"agent-bulk-changes/{change}/agents").json()["items"]
    reasons = {item["name"]: item["reason"] for item in items}
    assert reasons["a00"] == "The agent is already draining: x"
    assert reasons["a01"] == "The agent is retired."
    assert shown(api, change)["state"] == "done"
    undone = api.post(f"agent-bulk-changes/{change}:undo")
    assert undone.status_code == 202, undone.content
    execution.run_bulk_changes()
    assert states() == {"a00": "draining", "a01": "retired", "a02": "ready", "a03": "ready"}


def test_a_named_agent_that_does_not_exist_is_refused_and_nothing_changes(api):
    ids = fleet(api, 1)

    answer = start(api, selector={"agent_ids": [*ids, str(uuid.uuid4())]})

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/selector/agent_ids/1"]
    assert "1 agent of the selector is not available" in answer.json()["detail"]
    assert not AgentBulkChange.objects.exists()


def test_a_wrong_state_names_the_right_ones(api):
    answer = api.post("agents:drain", {"selector": {"state": ["redy"]}, "reason": "x"})
    (error,) = answer.json()["errors"]
    assert (error["hint"], "unavailable" in error["allowed"]) == ("Did you mean 'ready'?", True)
    answer = api.post("agents:drain", {"selector": {"health_status": ["ready"]}, "reason": "x"})
    assert "Did you mean 'state'?" in answer.json()["errors"][0]["message"]


def test_a_bulk_change_stops_before_the_last_ready_agent(api):
    ids = fleet(api, 3, task_types=[{"name": "spark", "version": "v1"}])
    change = started(api, selector={"agent_ids": ids[:2]})
    # Meanwhile, the one that would have stayed is drained.
    api.post(f"agents/{ids[2]}:drain", {"reason": "x"})

    execution.run_bulk_changes()

    stopped = shown(api, change)
    assert (stopped["state"], stopped["counts"]["done"], stopped["counts"]["skipped"]) == ("stopped", 1, 1)
    assert "a01 is the last ready agent of spark in prod" in stopped["problem"]
    assert states() == {"a00": "draining", "a01": "ready", "a02": "draining"}


@pytest.mark.parametrize("other", ["environment", "team"])
def test_agents_elsewhere_do_not_serve_instead(api, other):
    spark = [{"name": "spark", "version": "v1"}]
    world = make_two_teams(api)
    ids = fleet(api, 1, task_types=spark)
    register(api, "b00", environment="dev" if other == "environment" else "prod", task_types=spark)
    if other == "team":
        Agent.objects.filter(name="b00").update(team_id=world.other.id)

    assert start(api, selector={"agent_ids": ids}).status_code == 409


def test_selectors_select_like_the_list(api):
    register(api, "a1", labels={"team": "ml"}, task_types=[{"name": "spark", "version": "v1"}])
    register(api, "a2", labels={"team": "etl"})
    register(api, "b1", labels={"team": "ml"})

    def count(**selector: Any) -> int:
        return start(api, query="?dry_run=1", selector=selector).json()["impact"]["agents"]

    assert count(label_selector="team=ml") == 2
    assert count(task_type="spark") == 1
    assert count(q="a") == 2
    assert count(state=["ready", "congested"], environment="prod") == 3
    assert count(state=["congested"]) == 0
    assert count(since="1h") == 3
    assert count(until="1h") == 0
    assert count(service_type="vm", label_selector="team!=ml") == 1
    assert [item["name"] for item in api.get("agents?task_type=spark").json()["items"]] == ["a1"]


def test_nothing_to_change_is_done_at_once(api):
    change = start(api, selector={"environment": "nowhere"}).json()

    assert (change["state"], change["counts"]["total"]) == ("done", 0)


def test_retire_resume_and_approve(api):
    fleet(api, 2)
    started(api, "drain")
    execution.run_bulk_changes()
    started(api, "resume")
    execution.run_bulk_changes()
    assert set(states().values()) == {"ready"}
    retired = started(api, "retire", allow_last_agents=True)
    execution.run_bulk_changes()
    assert set(states().values()) == {"retired"}
    refused = api.post(f"agent-bulk-changes/{retired}:undo")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    Agent.objects.update(state="registered")
    started(api, "approve")
    execution.run_bulk_changes()
    assert set(states().values()) == {"ready"}


def test_what_changed_in_the_meantime_is_skipped_with_its_reason(api):
    ids = fleet(api, 3)
    change = started(api)
    api.post(f"agents/{ids[0]}:drain", {"reason": "mine"})
    api.post(f"agents/{ids[1]}:retire")
    api.delete(f"agents/{ids[1]}")

    execution.run_bulk_changes()

    items = api.get(f"agent-bulk-changes/{change}/agents?state=skipped").json()["items"]
    assert [(item["name"], item["reason"]) for item in items] == [
        ("a00", "The agent is already draining: mine"),
        ("a01", "The agent does not exist any more."),
    ]
    assert shown(api, change)["counts"]["done"] == 1


def test_cancel_leaves_the_remaining_agents(api):
    fleet(api, 4)
    change = start(api, batch_size=1, pause_seconds=600).json()["id"]
    execution.run_bulk_changes()

    cancelled = api.post(f"agent-bulk-changes/{change}:cancel")

    assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")
    assert cancelled.json()["counts"]["skipped"] == 3
    AgentBulkChange.objects.update(pause_seconds=0)
    assert execution.run_bulk_changes() == 0
    assert list(states().values()) == ["draining", "ready", "ready", "ready"]
    assert api.post(f"agent-bulk-changes/{change}:cancel").status_code == 409


def test_undo_restores_what_was_before_and_spares_what_changed_since(api):
    ids = fleet(api, 3)
    change = started(api)
    execution.run_bulk_changes()
    api.post(f"agents/{ids[0]}:drain", {"reason": "mine"})

    undone = api.post(f"agent-bulk-changes/{change}:undo?change_message=Oops")

    assert (undone.status_code, undone.json()["state"]) == (202, "undoing")
    execution.run_bulk_changes()
    counts = shown(api, change)["counts"]
    assert (counts["undone"], counts["kept"], counts["done"]) == (2, 1, 0)
    assert shown(api, change)["state"] == "undone"
    assert states() == {"a00": "draining", "a01": "ready", "a02": "ready"}
    assert outcomes(api, change) == {"a00": "kept", "a01": "undone", "a02": "undone"}
    assert api.post(f"agent-bulk-changes/{change}:undo").status_code == 409


def test_undo_of_a_resume_drains_again_with_the_former_reason(api):
    ids = fleet(api, 2)
    for agent_id, reason in zip(ids, ("one", "two"), strict=True):
        api.post(f"agents/{agent_id}:drain", {"reason": reason, "until": "2999-01-01T00:00:00Z"})
    change = started(api, "resume")
    execution.run_bulk_changes()
    assert set(states().values()) == {"ready"}

    api.post(f"agent-bulk-changes/{change}:undo")
    execution.run_bulk_changes()

    rows = Agent.objects.order_by("name").values_list("state", "drain_reason", "drain_until__year")
    assert list(rows) == [("draining", "one", 2999), ("draining", "two", 2999)]


def test_undo_of_a_running_change_cancels_the_rest(api):
    fleet(api, 4)
    change = start(api, batch_size=2, pause_seconds=600).json()["id"]
    execution.run_bulk_changes()

    api.post(f"agent-bulk-changes/{change}:undo")
    execution.run_bulk_changes()

    assert set(states().values()) == {"ready"}
    assert sorted(outcomes(api, change).values()) == ["skipped", "skipped", "undone", "undone"]


def test_agents_of_others_are_not_selected_and_their_bulk_changes_do_not_exist(api):
    world = make_two_teams(api)
    ours = member_of(world.ours, Role.OPERATOR)
    everyone = {"environment": "shared"}
    allowed = {"allow_last_agents": True, "pause_seconds": 0}

    impact = start(ours, query="?dry_run=1", selector=everyone).json()["impact"]
    assert impact["agents"] == 1
    theirs = [world.other_agent.id, world.platform_agent.id]
    refused = start(ours, query="?dry_run=1", selector={"agent_ids": theirs})
    assert [error["code"] for error in refused.json()["errors"]] == ["unknown_agent"] * 2
    change = started(ours, selector=everyone, **allowed)
    execution.run_bulk_changes()
    drained = Agent.objects.filter(state="draining").values_list("name", flat=True)
    assert list(drained) == [f"{OURS}-1"]
    assert list(outcomes(ours, change)) == [f"{OURS}-1"]

    foreign = started(api, selector={"team": OTHER}, **allowed)
    mixed = started(api, selector={"q": "zq"}, **allowed)
    for path in (foreign, f"{foreign}/agents", mixed):
        assert ours.get(f"agent-bulk-changes/{path}").status_code == 404
    for verb in ("cancel", "undo"):
        assert ours.post(f"agent-bulk-changes/{foreign}:{verb}").status_code == 404
    listed = ours.get("agent-bulk-changes").json()["items"]
    assert [item["id"] for item in listed] == [change]
    assert OTHER not in str(listed)
    assert PLATFORM not in str(listed)


def test_agents_that_the_caller_may_only_read_are_not_selected(api):
    world = make_two_teams(api)
    ours = member_of(world.ours, Role.OPERATOR)
    principal = Principal.objects.get(name=ours.get("me").json()["name"])
    RoleBinding.objects.create(principal=principal, role="viewer")

    assert len(ours.get("agents?environment=shared").json()["items"]) == 3
    impact = start(ours, query="?dry_run=1", selector={"environment": "shared"}).json()["impact"]
    assert (impact["agents"], impact["unchanged"]) == (1, 0)


def test_a_reader_may_neither_start_nor_cancel(api):
    fleet(api, 2)
    change = started(api)
    viewer = Api(token_for("viewer"))

    assert viewer.get(f"agent-bulk-changes/{change}").status_code == 200
    assert start(viewer).status_code == 403
    assert start(viewer, query="?dry_run=1").status_code == 403
    for verb in ("cancel", "undo"):
        assert viewer.post(f"agent-bulk-changes/{change}:{verb}").status_code == 403


def test_the_rights_of_the_author_count_while_it_runs(api):
    fleet(api, 3)
    author = Api(token_for("operator"))
    change = start(author, batch_size=1, pause_seconds=600).json()["id"]
    execution.run_bulk_changes()
    row = AgentBulkChange.objects.get()
    RoleBinding.objects.filter(principal_id=row.author_id).update(role="viewer")
    AgentBulkChange.objects.update(pause_seconds=0, due_at=datetime.now(UTC) - timedelta(seconds=1))

    execution.run_bulk_changes()

    assert outcomes(api, change) == {"a00": "done", "a01": "failed", "a02": "failed"}
    assert list(states().values()) == ["draining", "ready", "ready"]


def test_without_an_active_author_it_stops(api):
    fleet(api, 2)
    change = started(api)
    Principal.objects.update(is_active=False)

    execution.run_bulk_changes()

    assert AgentBulkChange.objects.get(id=change).state == "stopped"
    assert set(states().values()) == {"ready"}


def test_the_scopes_of_the_token_limit_what_runs_later(api):
    fleet(api, 2)
    change = started(api)
    AgentBulkChange.objects.update(author_scopes=["agents:read"])

    execution.run_bulk_changes()

    # With such a token, the author does not even see them.
    assert set(outcomes(api, change).values()) == {"skipped"}
    assert set(states().values()) == {"ready"}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/selector"),
        ({"selector": PROD}, "/reason"),
        ({"selector": [], "reason": "x"}, "/selector"),
        ({"selector": {"enviroment": "prod"}, "reason": "x"}, "/selector/enviroment"),
        ({"selector": {"state": ["asleep"]}, "reason": "x"}, "/selector/state/0"),
        ({"selector": {"state": "ready"}, "reason": "x"}, "/selector/state"),
        ({"selector": {"agent_ids": ["x"]}, "reason": "x"}, "/selector/agent_ids/0"),
        ({"selector": {"agent_ids": []}, "reason": "x"}, "/selector/agent_ids"),
        ({"selector": {"since": "soon"}, "reason": "x"}, "/selector/since"),
        ({"selector": PROD, "reason": ""}, "/reason"),
        ({"selector": PROD, "reason": "x" * 256}, "/reason"),
        ({"selector": PROD, "reason": "x", "confirm": "11"}, "/confirm"),
        ({"selector": PROD, "reason": "x", "batch_size": 0}, "/batch_size"),
        ({"selector": PROD, "reason": "x", "pause_seconds": 3601}, "/pause_seconds"),
        ({"selector": PROD, "reason": "x", "allow_last_agents": 1}, "/allow_last_agents"),
        ({"selector": PROD, "reason": "x", "until": "2020-01-01T00:00:00Z"}, "/until"),
        ({"selector": {"label_selector": "a=b=c"}, "reason": "x"}, "?selector"),
    ],
)
def test_bad_input_is_refused_with_its_place(api, body, pointer):
    answer = api.post("agents:drain", body)

    assert answer.status_code == 400, answer.content
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


def test_unknown_ids_and_words(api):
    nobody = uuid.uuid4()
    for path in (f"{nobody}", f"{nobody}/agents"):
        answer = api.get(f"agent-bulk-changes/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_agent_bulk_change")
    for verb in ("cancel", "undo"):
        assert api.post(f"agent-bulk-changes/{nobody}:{verb}").status_code == 404
    assert api.get("agent-bulk-changes?state=asleep").status_code == 400
    assert start(api, "retire", until="2999-01-01T00:00:00Z").status_code == 400


def test_old_bulk_changes_are_deleted(api):
    fleet(api, 1)
    change = started(api)
    execution.run_bulk_changes()
    execution.delete_old(timedelta(days=30))
    assert shown(api, change)["state"] == "done"

    AgentBulkChange.objects.update(finished_at=datetime.now(UTC) - timedelta(days=31))
    execution.delete_old(timedelta(days=30))

    assert not AgentBulkChangeItem.objects.exists()
