"""Backfills: small ranges, each once, by one process, and further after a kill."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from controlplane.cluster.leadership import Role, lead
from controlplane.ids import uuid7
from controlplane.upgrades import backfills
from controlplane.upgrades.backfills import Backfill, OtherRunner, run
from controlplane.upgrades.models import BackfillProgress

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = 1_000
# What a second change of a row would show.
COUNT_UP = Backfill(
    "count_up",
    "backfill_sample",
    "id",
    "bigint",
    "UPDATE backfill_sample SET times = times + 1"
    " WHERE (%(after)s::bigint IS NULL OR id > %(after)s::bigint) AND id <= %(last)s::bigint",
)


@pytest.fixture(autouse=True)
def _sample(monkeypatch) -> Iterator[None]:
    monkeypatch.setattr(backfills, "_registered", {COUNT_UP.name: COUNT_UP})
    monkeypatch.setattr(backfills, "_WAIT_SECONDS", 0.05)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE backfill_sample (id bigint PRIMARY KEY, times int NOT NULL DEFAULT 0)")
        # With gaps, as keys of real rows have them.
        cursor.execute("INSERT INTO backfill_sample SELECT 7 * n FROM generate_series(1, %s) AS n", [ROWS])
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE backfill_sample")


def times() -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT times, count(*) FROM backfill_sample GROUP BY times")
        return dict(cursor.fetchall())


def backfill(*words: str, **options: object) -> str:
    output = io.StringIO()
    call_command("backfill", *words, stdout=output, **options)
    return output.getvalue()


def test_every_row_is_changed_once_and_the_end_is_noted():
    assert backfill("--list") == "count_up: not begun\n"
    assert backfill(rows=300) == "count_up has ended: 1000 rows changed.\n"
    assert times() == {1: ROWS}
    assert backfill("count_up") == "count_up has ended: 1000 rows changed.\n", "Nothing is left."
    assert times() == {1: ROWS}
    assert backfill("--list") == "count_up: ended, 1000 rows changed\n"


def test_a_backfill_that_is_killed_goes_on_where_it_was():
    pids: list[int] = []
    thread = threading.Thread(target=_run_in_thread, args=(pids,))
    thread.start()
    parameters = connection.get_connection_params()
    names = ("host", "port", "dbname", "user")
    with psycopg.connect(
        **{name: parameters[name] for name in names if name in parameters}, autocommit=True
    ) as session:
        while not pids:
            time.sleep(0.005)
        killed = 0
        while thread.is_alive() and killed < 5:
            time.sleep(0.05)
            found = session.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE query LIKE '%%backfill%%' AND pid <> pg_backend_pid() AND pid = ANY(%s)", [pids]
            ).fetchall()  # fmt: skip
            killed += len(found)
    thread.join(30)
    assert killed >= 1
    assert times() == {1: ROWS}
    assert BackfillProgress.objects.get().changed_rows == ROWS


def _run_in_thread(pids: list[int]) -> None:
    def note(_: str = "") -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pids.append(cursor.fetchone()[0])

    note()
    try:
        run(COUNT_UP, rows=10, say=lambda message: None)
    finally:
        connection.close()


def test_a_range_that_fails_is_undone_as_a_whole(monkeypatch):
    real = backfills._change_range
    calls = []

    def killed_before_the_commit(one: Backfill, rows: int) -> bool:
        calls.append(rows)
        with transaction.atomic():
            ended = real(one, rows)
            if len(calls) == 3:
                raise KeyboardInterrupt
        return ended

    monkeypatch.setattr(backfills, "_change_range", killed_before_the_commit)
    with pytest.raises(KeyboardInterrupt):
        backfill(rows=100)
    assert times() == {0: ROWS - 200, 1: 200}
    assert BackfillProgress.objects.get().after == str(7 * 200)
    monkeypatch.undo()
    monkeypatch.setattr(backfills, "_registered", {COUNT_UP.name: COUNT_UP})
    backfill()
    assert times() == {1: ROWS}


def test_one_process_runs_backfills_at_a_time():
    assert lead(Role.BACKFILLS, holder=uuid7()) is not None
    with pytest.raises(OtherRunner):
        run(COUNT_UP, say=lambda message: None)
    with pytest.raises(CommandError, match="Another process"):
        backfill()
    assert times() == {0: ROWS}


def test_it_waits_while_a_standby_is_behind_and_while_a_row_is_locked(monkeypatch):
    lags = iter([9.0, 6.0])
    monkeypatch.setattr(backfills, "_lag_seconds", lambda: next(lags, 0.0))
    monkeypatch.setattr(backfills, "_LOCK_MS", 50)
    parameters = connection.get_connection_params()
    names = ("host", "port", "dbname", "user")
    with psycopg.connect(**{name: parameters[name] for name in names if name in parameters}) as session:
        session.execute("UPDATE backfill_sample SET times = 0 WHERE id = 700")
        threading.Timer(0.4, session.rollback).start()
        said = backfill()
    assert "a standby is 9 s behind" in said
    assert "lock timeout" in said
    assert times() == {1: ROWS}


def test_an_unknown_name_and_a_range_that_is_too_large_are_refused():
    with pytest.raises(CommandError, match=r"no backfill 'other'\. Known: count_up\."):
        backfill("other")
    for rows in (0, 5_001):
        with pytest.raises(CommandError, match="from 1 to 5000"):
            backfill(rows=rows)
    assert times() == {0: ROWS}
