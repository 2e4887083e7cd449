"""Turning a log with rows into partitions, while writers go on, and after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import DatabaseError, connection, connections, transaction

from controlplane.database.clock import statement_now
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.local import Services
from controlplane.retention import turning
from controlplane.retention.logs import EVENTS
from controlplane.retention.partitions import is_partitioned, partitions_of
from overrides.event_types import PROJECT_CREATED
from tests.conftest import system_environment
from tests.support.paths import ROOT
from tests.support.plain_logs import plain_event_log

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def plain_log(transactional_db: None) -> Iterator[None]:
    with plain_event_log():
        yield


def append(*names: str) -> None:
    with transaction.atomic():
        for name in names:
            log.append(PROJECT_CREATED, "project", name, data={"project": name}, actor="test")


def entry(name: str) -> log.Entry:
    return log.Entry(PROJECT_CREATED, "project", name, {"project": name}, "test")


def numbered() -> list[tuple[int | None, str]]:
    return [(event.seq, event.object_id) for event in log.follow(0)]


def test_a_turned_log_keeps_its_rows_and_numbers_and_goes_on_behind_them(plain_log):
    append("a", "b")
    before = numbered()
    last_position = Event.objects.latest("position").position

    steps = list(turning.turn(EVENTS))
    with transaction.atomic():
        log.append_each([entry("c")])

    assert steps == ["add_boundary", "validate_boundary", "swap", "make_partitions"]
    assert is_partitioned(EVENTS)
    assert numbered() == [*before, (3, "c")]
    assert Event.objects.get(object_id="c").position == last_position + 1
    assert [part.name for part in partitions_of(EVENTS)][-1] == "events_event_legacy"
    assert turning.boundary_of(EVENTS) is None


def test_a_turned_log_is_append_only_and_keeps_its_indexes(plain_log):
    append("a")
    list(turning.turn(EVENTS))

    with pytest.raises(DatabaseError, match="append-only"):
        Event.objects.update(type="lie")
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname FROM pg_indexes WHERE tablename = 'events_event'")
        names = {name for (name,) in cursor.fetchall()}
    assert names == {index.name for index in Event._meta.indexes}


def test_writers_go_on_while_the_log_is_turned(plain_log):
    stop = threading.Event()

    def write(writer: int) -> list[str]:
        names = []
        while not stop.is_set() or not names:
            names.append(f"{writer}:{len(names)}")
            append(names[-1])
        connections.close_all()
        return names

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, number) for number in range(3)]
        steps = list(turning.turn(EVENTS, pause=stop.wait))
        stop.set()
        written = [name for writer in writers for name in writer.result()]

    assert steps[-1] == "make_partitions"
    assert sorted(name for _, name in numbered()) == sorted(written)
    assert [seq for seq, _ in numbered()] == list(range(1, len(written) + 1))


def test_a_turn_never_waits_longer_than_a_second_with_writers_behind_it(plain_log, monkeypatch):
    append("a")
    monkeypatch.setattr(turning, "_TRIES", 2)
    pauses: list[float] = []
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": None}) as reader:
        reader.execute("SELECT count(*) FROM events_event")

        with pytest.raises(DatabaseError, match="lock timeout"):
            list(turning.turn(EVENTS, pause=pauses.append))

        append("b")
    assert len(pauses) == 1
    assert list(turning.turn(EVENTS))[-1] == "make_partitions"


def test_a_turn_that_was_killed_goes_on_where_it_ended(plain_log, services: Services):
    append("a")
    next(turning.turn(EVENTS))
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": None}) as reader:
        reader.execute("SELECT count(*) FROM events_event")
        run = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "partition_logs", "--skip-checks"],
            env={**os.environ, **system_environment(services)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert run.stdout is not None
        lines = [run.stdout.readline(), run.stdout.readline()]
        run.send_signal(signal.SIGKILL)
        run.wait()

    assert lines[-1] == "events_event: validate boundary: done\n"
    assert not is_partitioned(EVENTS)
    assert turning.boundary_of(EVENTS)[1]
    assert list(turning.turn(EVENTS))[-1] == "make_partitions"
    assert numbered() == [(1, "a")]


def test_the_boundary_of_an_abandoned_turn_is_removed_before_it_refuses_rows(plain_log):
    append("a")
    next(turning.turn(EVENTS))
    boundary, _ = turning.boundary_of(EVENTS)

    assert not turning.remove_abandoned_boundary(EVENTS, now=statement_now())
    assert turning.remove_abandoned_boundary(EVENTS, now=boundary)

    assert turning.boundary_of(EVENTS) is None
