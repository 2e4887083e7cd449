"""Processes tell of themselves: rows, the database's clock, outages, and an end that nobody waits for."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client

from controlplane import __version__
from controlplane.members.builds import this_build
from controlplane.members.metrics import MemberCollector
from controlplane.members.models import Member, SchemaRecord
from controlplane.members.presence import Presence, is_this_too_old, present
from controlplane.members.reading import read_members
from controlplane.members.statements import Cursor
from controlplane.members.versions import OLDEST_PROCESS, Skew
from tests.support.waiting import until


@contextmanager
def our_cursor() -> Iterator[Cursor]:
    """A cursor within the transaction of the test."""
    with connection.cursor() as cursor:
        yield cursor


@contextmanager
def no_database() -> Iterator[Cursor]:
    raise psycopg.OperationalError("connection refused")
    yield


def beat(process: str = "relay", instance: str = "") -> None:
    Presence(process, instance, connect=our_cursor).beat()


@pytest.fixture
def _allowed_again() -> Iterator[None]:
    """This process is too old for nothing after the test."""
    yield
    SchemaRecord.objects.update(oldest_process=OLDEST_PROCESS)
    beat()


@pytest.mark.django_db
def test_a_process_has_one_row_by_the_clock_of_the_database():
    presence = Presence("relay", connect=our_cursor)
    presence.beat()
    first = Member.objects.get()
    presence.beat()
    row = Member.objects.get()
    assert (row.process, row.version, row.instance) == ("relay", __version__, f"{row.host}-{row.pid}")
    assert row.seen_at > first.seen_at
    assert row.started_at == first.started_at
    assert row.schema == dict(this_build().schema)
    assert row.schema["access"] >= "0013"


@pytest.mark.django_db
def test_gone_processes_are_shown_for_a_day_and_count_for_nothing():
    beat("worker", "gone")
    beat("worker", "forgotten")
    beat("worker", "runs")
    Member.objects.filter(instance="gone").update(seen_at=Now() - timedelta(minutes=10), version="0.0.1")
    Member.objects.filter(instance="forgotten").update(seen_at=Now() - timedelta(hours=25))
    beat("beat")
    members = read_members()
    assert [(member.instance, member.is_gone) for member in members.items if member.process == "worker"] == [
        ("gone", True),
        ("runs", False),
    ]
    assert members.versions == {__version__: 2}
    assert members.skew is Skew.OK


@pytest.mark.django_db
def test_versions_beside_each_other_are_counted_and_timed():
    for number in range(8):
        beat("web", f"web-{number}")
        Member.objects.filter(instance=f"web-{number}").update(version=f"0.0.{number}")
    beat("relay")
    Member.objects.filter(process="relay").update(started_at=Now() - timedelta(hours=2))
    members = read_members()
    assert members.skew is Skew.TOO_OLD
    assert timedelta(hours=2) <= members.skewed_for < timedelta(hours=2, minutes=1)
    samples = [sample for family in MemberCollector().collect() for sample in family.samples]
    by_version = {s.labels["version"]: s.value for s in samples if s.name == "cp_members"}
    assert by_version == {
        __version__: 1,
        **dict.fromkeys(["0.0.7", "0.0.6", "0.0.5", "0.0.4"], 1),
        "other": 4,
    }
    assert {s.name: s.value for s in samples}["cp_members_too_old"] == 8


@pytest.mark.django_db
@pytest.mark.usefixtures("_allowed_again")
def test_a_process_that_is_too_old_is_not_ready_and_says_so():
    beat()
    assert not is_this_too_old()
    SchemaRecord.objects.update(oldest_process="99.0.0")
    beat()
    assert is_this_too_old()
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"not ready: too_old\n")
    verbose = json.loads(Client().get("/readyz?verbose").content)
    assert verbose["checks"]["version"] == "too_old"
    assert verbose["checks"]["postgres"] == "ok"
    assert Client().get("/readyz?exclude=version").status_code == 200


@pytest.mark.django_db
@pytest.mark.usefixtures("_allowed_again")
def test_without_a_database_a_process_knows_what_it_was_told_last():
    SchemaRecord.objects.update(oldest_process="99.0.0")
    presence = Presence("web", connect=our_cursor)
    presence.beat()
    Presence("web", connect=no_database).beat()
    assert is_this_too_old()


@pytest.mark.django_db(transaction=True)
def test_the_thread_writes_at_once_and_removes_its_row_at_the_end():
    with present("relay", "one"):
        until(Member.objects.exists, 60, lambda: "no row")
    assert not Member.objects.exists()


def test_an_outage_neither_ends_the_thread_nor_delays_the_end():
    beats: list[float] = []

    @contextmanager
    def hanging() -> Iterator[Cursor]:
        beats.append(time.monotonic())
        if len(beats) > 2:
            time.sleep(5)
        raise psycopg.OperationalError("timeout")
        yield

    presence = Presence("relay", connect=hanging, every_seconds=0.01)
    presence.start()
    until(lambda: len(beats) > 2, 60, lambda: str(beats))
    began = time.monotonic()
    presence.stop()
    assert time.monotonic() - began < 3


@pytest.mark.django_db
def test_migrate_records_the_version_of_the_schema():
    row = SchemaRecord.objects.get()
    assert (row.version, row.oldest_process) == (__version__, OLDEST_PROCESS)
