"""Freezes that meet writers and the folder of files: real threads, real commits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, connections, transaction

from controlplane.errors import ChangeFrozen
from controlplane.scopes import Scope
from overrides.editing.writes import put_override
from overrides.freezes.changes import declare_freeze
from overrides.models import Override
from overrides.resolution.addresses import Address
from tests.support.api_client import ACTOR
from tests.support.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

WEC = Address("workflow_execution_config", Scope())


def declare() -> None:
    ends_at = datetime.now(UTC) + timedelta(hours=1)
    declare_freeze(Scope(), starts_at=None, ends_at=ends_at, reason="Sale", actor=ACTOR)


def write() -> str:
    try:
        put_override(WEC, {"max_parallelism": 5}, actor=ACTOR)
    except ChangeFrozen:
        return "refused"
    finally:
        connections.close_all()
    return "written"


def someone_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return bool(cursor.fetchone()[0])


def test_a_write_that_began_before_a_freeze_and_waits_for_it_is_refused(transactional_db):
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            declare()
            result = pool.submit(write)
            # The freeze is not committed: the writer waits for the lock of revisions.
            until(lambda: result.done() or someone_waits(), seconds=60)
        outcome = result.result()

    assert outcome == "refused"
    assert not Override.objects.exists()


def test_a_freeze_that_waits_for_a_write_does_not_undo_it(transactional_db):
    def late() -> None:
        try:
            declare()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            put_override(WEC, {"max_parallelism": 5}, actor=ACTOR)
            waiting = pool.submit(late)
        waiting.result()

    assert Override.objects.get().attributes == {"max_parallelism": 5}
    with pytest.raises(ChangeFrozen):
        put_override(Address("workflow_execution_config", Scope("production")), {}, actor=ACTOR)
