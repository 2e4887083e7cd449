"""`manage.py migrate` beside running processes: by phases, with short locks, and again after an attempt."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.functions import Now

from controlplane.ids import uuid7
from controlplane.members.models import Member
from controlplane.upgrades import retries
from controlplane.upgrades.executor import PhasedExecutor, only_contracts_wait
from controlplane.upgrades.phases import Phase
from tests.support.next_release import LAST

pytestmark = pytest.mark.django_db(transaction=True)
ADDED, INDEXED, DROPPED, MORE = (
    "9001_notes_of_backups",
    "9002_notes_by_index",
    "9003_contract_old_notes",
    "9004_more_notes",
)


@pytest.fixture(autouse=True)
def _next_release(settings) -> Iterator[None]:
    """The migrations of a later release, and the schema of this one before and after."""
    settings.MIGRATION_MODULES = {
        **settings.MIGRATION_MODULES,
        "installation": "tests.support.next_release",
    }
    yield
    with connection.cursor() as cursor:
        for column in ("note", "old_note", "notes"):
            cursor.execute(f"ALTER TABLE installation_backup DROP COLUMN IF EXISTS {column}")
    MigrationRecorder(connection).migration_qs.filter(app="installation", name__gt=LAST).delete()


@pytest.fixture
def other() -> Iterator[psycopg.Connection]:
    """A session of somebody else."""
    parameters = connection.get_connection_params()
    names = ("host", "port", "dbname", "user")
    with psycopg.connect(**{name: parameters[name] for name in names if name in parameters}) as session:
        yield session


def run(phase: Phase | None = None) -> None:
    """What the command does, without what follows it."""
    executor = PhasedExecutor(connection, phase=phase)
    executor.migrate(executor.loader.graph.leaf_nodes())


def applied() -> set[str]:
    return {name for app, name in MigrationRecorder(connection).applied_migrations() if name > "9"}


def columns() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT attname FROM pg_attribute WHERE attrelid = 'installation_backup'::regclass"
                       " AND attname LIKE '%note%' AND NOT attisdropped")  # fmt: skip
        return {name for (name,) in cursor.fetchall()}


def note_process(version: str, *, seen_ago: timedelta = timedelta()) -> None:
    Member.objects.create(
        id=uuid7(), process="web", instance="a-1", host="a", pid=1, version=version, seen_at=Now() - seen_ago
    )


def test_a_drop_waits_for_an_older_process_and_then_runs():
    note_process("0.0.9")
    output = StringIO()
    call_command("migrate", "installation", verbosity=1, stdout=output)
    assert applied() == {ADDED, INDEXED}
    assert columns() == {"note", "old_note"}
    assert "web a-1 (0.0.9)" in output.getvalue()
    assert only_contracts_wait(connection), "New processes are ready."
    with pytest.raises(CommandError, match=r"installation\.9003_contract_old_notes.*web a-1 \(0\.0\.9\)"):
        call_command("migrate", "installation", phase="contract", verbosity=0)
    assert applied() == {ADDED, INDEXED}

    Member.objects.update(seen_at=Now() - timedelta(minutes=10))
    run(Phase.CONTRACT)
    assert applied() == {ADDED, INDEXED, DROPPED, MORE}
    assert columns() == {"note", "notes"}


def test_a_drop_can_wait_until_the_last_older_process_ends(other):
    note_process("0.0.9")
    output = StringIO()
    ends = threading.Timer(0.3, lambda: (other.execute("DELETE FROM members_member"), other.commit()))
    ends.start()

    call_command("migrate", "installation", phase="contract", wait=1, stdout=output)

    assert "Older processes still run. Waiting for 1 s at most." in output.getvalue()
    assert applied() == {ADDED, INDEXED, DROPPED, MORE}


def test_expand_leaves_drops_and_what_needs_them_for_later():
    note_process("0.1.0")
    assert not only_contracts_wait(connection)
    run(Phase.EXPAND)
    assert applied() == {ADDED, INDEXED}
    run()
    assert applied() == {ADDED, INDEXED, DROPPED, MORE}, "0.1.0 does not use it any more."


def test_a_held_lock_makes_it_wait_and_retry_and_others_wait_a_second_at_most(other):
    other.execute("SELECT count(*) FROM installation_backup")  # holds ACCESS SHARE until its end
    waits: list[float] = []
    ended = threading.Event()
    reader = threading.Thread(target=_read_until, args=(ended, waits))
    reader.start()
    threading.Timer(2.5, other.rollback).start()
    output = StringIO()
    try:
        call_command("migrate", "installation", "9001", verbosity=0, stdout=output)
    finally:
        ended.set()
        reader.join()
    assert applied() == {ADDED}
    assert "Trying again" in output.getvalue()
    assert 0.5 < max(waits) < 1.5, "A reader behind the migration waits for one attempt."


def _read_until(ended: threading.Event, waits: list[float]) -> None:
    """Read the table again and again, as requests do."""
    parameters = connection.get_connection_params()
    names = ("host", "port", "dbname", "user")
    session = psycopg.connect(**{name: parameters[name] for name in names if name in parameters})
    with session:
        while not ended.wait(0.02):
            began = time.monotonic()
            session.execute("SELECT count(*) FROM installation_backup")
            session.rollback()
            waits.append(time.monotonic() - began)


def test_an_index_that_was_left_unfinished_is_built_again():
    run_to(INDEXED)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'backup_by_note'::regclass")
    MigrationRecorder(connection).record_unapplied("installation", INDEXED)
    run_to(INDEXED)
    with connection.cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = 'backup_by_note'::regclass")
        assert cursor.fetchone() == (True,)


def run_to(name: str) -> None:
    PhasedExecutor(connection).migrate([("installation", name)])


def attempts_that_fail(times: int, error: Exception) -> Callable[[], None]:
    left = [times]

    def attempt() -> None:
        if left[0]:
            left[0] -= 1
            raise error

    return attempt


def lock_error() -> OperationalError:
    error = OperationalError("canceling statement due to lock timeout")
    error.__cause__ = psycopg.errors.LockNotAvailable()
    return error


def test_an_attempt_is_repeated_twenty_times_at_most_without_progress():
    said: list[str] = []
    retries.with_retries(attempts_that_fail(19, lock_error()), lambda: 0, said.append, pause_seconds=0)
    assert len(said) == 19
    with pytest.raises(OperationalError):
        retries.with_retries(attempts_that_fail(20, lock_error()), lambda: 0, said.append, pause_seconds=0)
    progress = iter(range(100))
    retries.with_retries(
        attempts_that_fail(40, lock_error()), lambda: next(progress), said.append, pause_seconds=0
    )
    with pytest.raises(OperationalError):
        retries.with_retries(attempts_that_fail(1, OperationalError("gone")), lambda: 0, said.append)


@pytest.mark.parametrize("phase", [(), ("--phase", "expand")])
def test_waiting_for_older_processes_needs_the_phase_that_does(phase):
    with pytest.raises(CommandError, match="--wait is for --phase contract"):
        call_command("migrate", *phase, "--wait", "30")
