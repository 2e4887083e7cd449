"""Workers of bulk changes: killed in the middle, several at once, and failures of single agents."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection, connections

from controlplane.events.models import Event
from registry.agents.models import Agent
from registry.bulk_changes import execution
from registry.bulk_changes.models import AgentBulkChange, AgentBulkChangeItem
from tests.support.api_client import AGENT, Api, token_for

pytestmark = pytest.mark.django_db(transaction=True)
AGENTS = 8
# Closed by the child, the connection would end for the test too.
_inherited: list[object] = []


@pytest.fixture
def fleet(transactional_db) -> Api:
    api = Api(token_for("admin"))
    for number in range(AGENTS):
        name = f"a{number}"
        body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
        assert (
            api.post("agents", {**body, "task_types": [{"name": "spark", "version": "v1"}]}).status_code
            == 201
        )
    return api


def start(api: Api, **more: object) -> str:
    body = {"selector": {"environment": "prod"}, "reason": "x", "pause_seconds": 0, "allow_last_agents": True}
    answer = api.post("agents:drain", {**body, **more})
    assert answer.status_code == 202, answer.content
    return answer.json()["id"]


def run_at_once(workers: int) -> None:
    ready = threading.Barrier(workers)

    def work() -> None:
        try:
            ready.wait()
            # A worker that finds all rows locked ends; the schedule starts it again.
            for _ in range(20):
                execution.run_bulk_changes()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(work) for _ in range(workers)]:
            future.result()


def drains() -> Counter[str]:
    return Counter(Event.objects.filter(type="agent.draining").values_list("object_id", flat=True))


def test_a_killed_worker_loses_one_agent_at_most_and_the_next_worker_goes_on(fleet):
    change = start(fleet)
    pid = os.fork()
    if pid == 0:
        _die_at_the_fourth_agent()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert AgentBulkChange.objects.get(id=change).done == 3
    assert Agent.objects.filter(state="draining").count() == 3

    execution.run_bulk_changes()

    row = AgentBulkChange.objects.get(id=change)
    assert (row.state, row.done) == ("done", AGENTS)
    assert set(drains().values()) == {1}
    assert len(drains()) == AGENTS


def _die_at_the_fourth_agent() -> None:
    """Change the fourth agent, and die before its transaction is committed."""
    _inherited.append(connection.connection)
    connection.connection = None
    real, count = execution.change_item, 0

    def change_item(*args):
        nonlocal count
        outcome = real(*args)
        count += 1
        if count == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return outcome

    execution.change_item = change_item
    try:
        execution.run_bulk_changes()
    finally:
        os._exit(3)


def test_two_bulk_changes_over_the_same_agents_drain_each_once(fleet):
    changes = [start(fleet), start(fleet, reason="y")]

    run_at_once(4)

    assert set(drains().values()) == {1}
    assert len(drains()) == AGENTS
    rows = [AgentBulkChange.objects.get(id=change) for change in changes]
    assert [row.state for row in rows] == ["done", "done"]
    assert sum(row.done for row in rows) == AGENTS
    assert sum(row.skipped for row in rows) == AGENTS


def test_two_bulk_changes_at_once_leave_the_last_ready_agent(fleet):
    halves = [list(Agent.objects.filter(name__in=names).values_list("id", flat=True)) for names in _halves()]
    for ids in halves:
        start(fleet, selector={"agent_ids": [str(one) for one in ids]}, allow_last_agents=False)

    run_at_once(4)

    assert Agent.objects.filter(state="ready").count() == 1
    assert sorted(AgentBulkChange.objects.values_list("state", flat=True)) == ["done", "stopped"]


def _halves() -> list[list[str]]:
    return [["a0", "a1", "a2", "a3"], ["a4", "a5", "a6", "a7"]]


def test_an_agent_that_cannot_be_changed_fails_after_three_attempts_and_stops_no_other(fleet, monkeypatch):
    change = start(fleet)
    real = execution.change_item

    def change_item(row, item, caller):
        if item.name == "a2":
            raise OperationalError("lock timeout")
        return real(row, item, caller)

    monkeypatch.setattr(execution, "change_item", change_item)
    for _ in range(4):
        execution.run_bulk_changes()

    row = AgentBulkChange.objects.get(id=change)
    assert (row.state, row.done, row.failed) == ("done", AGENTS - 1, 1)
    [failed] = AgentBulkChangeItem.objects.filter(state="failed")
    assert (failed.name, failed.reason) == ("a2", "The change failed 3 times.")


def test_cancel_while_it_runs_ends_it(fleet, monkeypatch):
    change = start(fleet)
    real, count = execution.change_item, []

    def change_item(*args):
        count.append(1)
        return real(*args)

    monkeypatch.setattr(execution, "change_item", change_item)
    execution.run_bulk_changes(most=2)
    fleet.post(f"agent-bulk-changes/{change}:cancel")
    execution.run_bulk_changes()

    assert len(count) == 2
    assert Agent.objects.filter(state="draining").count() == 2
