"""Beat: of several, one sends; another takes over when it is gone, and none sends without Postgres."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from celery import Celery
from django.db import connection

from controlplane.cluster import beat
from controlplane.cluster.beat import LeaderScheduler
from controlplane.cluster.leadership import LEASE, Role, lead, resign
from controlplane.ids import uuid7

ANOTHER = uuid7()
_EVERY = 0.05


@pytest.fixture
def scheduler(tmp_path, transactional_db):
    app = Celery("test", set_as_current=False)
    app.conf.beat_schedule = {"wake": {"task": "pools.sweep", "schedule": _EVERY}}
    made = Recorder(app=app, schedule_filename=str(tmp_path / "beat"), lazy=True)
    made.setup_schedule()
    yield made
    made.close()


class Recorder(LeaderScheduler):
    """Notes tasks instead of sending them to a broker."""

    def __init__(self, *args, **kwargs) -> None:
        self.sent: list[str] = []
        super().__init__(*args, **kwargs)

    def apply_async(self, entry, producer=None, advance=True, **kwargs):  # its signature is Celery's
        entry = self.reserve(entry) if advance else entry
        self.sent.append(entry.task)

    @property
    def producer(self):
        return None


def rounds(scheduler: Recorder, number: int = 3) -> list[float]:
    scheduler.sent.clear()
    time.sleep(_EVERY)
    return [scheduler.tick() for _ in range(number)]


def forget_renewal(scheduler: Recorder) -> None:
    scheduler._renewed_at = float("-inf")


def test_the_only_beat_sends(scheduler):
    rounds(scheduler)
    assert "pools.sweep" in scheduler.sent


def test_a_second_beat_sends_nothing_until_the_first_is_gone(scheduler):
    assert lead(Role.BEAT, holder=ANOTHER) == 1
    assert rounds(scheduler) == [beat._RENEWAL_SECONDS] * 3
    assert scheduler.sent == []
    resign(Role.BEAT, holder=ANOTHER)
    rounds(scheduler)
    assert scheduler.sent


def test_a_beat_that_was_suspended_asks_before_it_sends(scheduler):
    rounds(scheduler)
    resign(Role.BEAT)
    lead(Role.BEAT, holder=ANOTHER)
    forget_renewal(scheduler)
    rounds(scheduler)
    assert scheduler.sent == []


def test_a_beat_asks_again_before_its_lease_can_end(scheduler):
    assert max(rounds(scheduler)) <= beat._RENEWAL_SECONDS
    assert LEASE.total_seconds() >= 3 * beat._RENEWAL_SECONDS


def test_a_beat_that_ends_lets_another_lead(scheduler):
    rounds(scheduler)
    scheduler.close()
    assert lead(Role.BEAT, holder=ANOTHER) == 2


def test_a_beat_that_stands_by_writes_its_schedule_too(scheduler):
    """Containers are probed by the age of the file."""
    # The index of a store without a library, which it writes each time, is not on every platform.
    files = [
        path
        for path in Path(scheduler.schedule_filename).parent.iterdir()
        if path.suffix not in (".dir", ".bak")
    ]
    assert files
    lead(Role.BEAT, holder=ANOTHER)
    for _ in range(2):
        rounds(scheduler)
        for path in files:
            os.utime(path, (0, 0))
        scheduler.sync()
        assert all(path.stat().st_mtime > 0 for path in files)


def test_without_postgres_nothing_is_sent_and_nothing_ends(scheduler):
    port = connection.settings_dict["PORT"]
    rounds(scheduler)
    connection.close()
    connection.settings_dict["PORT"] = "1"
    try:
        forget_renewal(scheduler)
        rounds(scheduler)
        assert scheduler.sent == []
    finally:
        connection.close()
        connection.settings_dict["PORT"] = port
    rounds(scheduler)
    assert scheduler.sent
