"""Two requests at once: the first inputs of one run, and deletions of one secret."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from controlplane.access.models import AuditRecord
from controlplane.errors import UnknownJobSecret
from controlplane.identity.roles import Role
from registry.jobs.models import Job, JobRun
from registry.jobs.run_input import InstanceType
from registry.jobs.stored_run_input import Instance, read_run_input
from registry.jobs.tenant_settings import delete_secret
from tests.api.registry.test_stored_jobs import prepare
from tests.support.api_client import ACTOR, Api, make_project, token_for

pytestmark = pytest.mark.django_db(transaction=True)
TASK = Instance(InstanceType.TASK)


def at_once(work: Callable[[], Any], number: int = 4) -> list[Any]:
    """What each of so many threads gets, which begin together."""
    barrier = Barrier(number)

    def run() -> Any:
        try:
            barrier.wait()
            return work()
        except UnknownJobSecret as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(number) as pool:
        return [future.result() for future in [pool.submit(run) for _ in range(number)]]


@pytest.fixture
def job() -> Job:
    make_project("shop")
    prepare(Api(token_for(Role.ADMIN)))
    return Job.objects.get()


def test_first_inputs_at_once_pin_one_release_with_one_record(job):
    run = JobRun.objects.get(scheduled_at=datetime(2026, 11, 24, 2, tzinfo=UTC))

    found = at_once(lambda: read_run_input(job, run, TASK, actor=ACTOR))

    assert {one.plugin.release.id for one in found} == {found[0].plugin.release.id}
    assert AuditRecord.objects.filter(action="job_run.pinned").count() == 1


def test_a_secret_is_deleted_once(job):
    results = at_once(lambda: delete_secret("shop", "", "warehouse", actor=ACTOR))

    assert sum(isinstance(result, UnknownJobSecret) for result in results) == 3
    assert AuditRecord.objects.filter(action="job_secret.deleted").count() == 1
