"""Two workers that meet at one due change: real threads, real commits."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections

from controlplane.events.models import Event
from overrides.models import OverrideVersion
from overrides.scheduled_models import OverrideChange
from overrides.scheduling.execution import run_due_changes
from tests.support.api_client import Api, token_for

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 4


def test_workers_apply_each_due_change_once(transactional_db):
    api = Api(token_for("admin"))
    for name in ("workflow_execution_config", "task_resource", "cluster_resource"):
        body = {"resource_type": name, "attributes": {}, "at": "2999-01-01T00:00:00Z"}
        assert api.post("override-changes", body).status_code == 201
    OverrideChange.objects.update(due_at=datetime.now(UTC) - timedelta(seconds=1))
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
