"""Due changes: one that fails stops no other, and workers that meet at one run it once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, connections

from controlplane.events.models import Event
from overrides.models import OverrideVersion
from overrides.scheduled_models import OverrideChange
from overrides.scheduling import execution
from overrides.scheduling.execution import run_due_changes
from tests.support.api_client import Api, token_for

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 4


def schedule_three() -> None:
    """Three changes that are due."""
    api = Api(token_for("admin"))
    for name in ("workflow_execution_config", "task_resource", "cluster_resource"):
        body = {"resource_type": name, "attributes": {}, "at": "2999-01-01T00:00:00Z"}
        assert api.post("override-changes", body).status_code == 201
    OverrideChange.objects.update(due_at=datetime.now(UTC) - timedelta(seconds=1))


@pytest.mark.parametrize("error", [ZeroDivisionError("unforeseen"), OperationalError("lock timeout")])
def test_a_change_that_cannot_be_run_is_due_again_and_stops_no_other(transactional_db, monkeypatch, error):
    schedule_three()
    real = execution._attempt

    def attempt(row, actor):
        if row.resource_type == "task_resource":
            raise error
        return real(row, actor)

    monkeypatch.setattr(execution, "_attempt", attempt)

    assert run_due_changes() == 3
    states = dict(OverrideChange.objects.values_list("resource_type", "state"))
    assert states.pop("task_resource") == "scheduled"
    assert set(states.values()) == {"applied"}

    monkeypatch.undo()
    assert run_due_changes() == 1
    assert set(OverrideChange.objects.values_list("state", flat=True)) == {"applied"}


def test_without_postgres_the_run_ends(transactional_db, monkeypatch):
    schedule_three()
    real, asked = execution._next_due, []

    def next_due(tried):
        asked.append(len(tried))
        if tried:
            raise OperationalError("the connection was lost")
        return real(tried)

    monkeypatch.setattr(execution, "_next_due", next_due)

    assert run_due_changes() == 1
    assert asked == [0, 1]


def test_workers_apply_each_due_change_once(transactional_db):
    schedule_three()
    ready = threading.Barrier(WORKERS)

    def work() -> int:
        try:
            ready.wait()
            return run_due_changes()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(WORKERS) as pool:
        done = sum(future.result() for future in [pool.submit(work) for _ in range(WORKERS)])

    assert done == 3
    assert set(OverrideChange.objects.values_list("state", flat=True)) == {"applied"}
    assert OverrideVersion.objects.count() == 3
    assert Event.objects.filter(type="override_change.applied").count() == 3
