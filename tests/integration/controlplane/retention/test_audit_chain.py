"""The hash chain over the audit log: what a superuser changes is found, and named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import pairwise

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from controlplane.access.audit_chain.models import AuditCheck, AuditSeal
from controlplane.access.audit_chain.seal import seal_past_days
from controlplane.access.audit_chain.verify import verify
from controlplane.access.models import AuditRecord
from controlplane.retention.months import EVER

pytestmark = pytest.mark.django_db

FIRST_DAY = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOW = FIRST_DAY + timedelta(days=6)


def write(name: str, at: datetime = FIRST_DAY) -> int:
    facts = {"object_type": "project", "object_id": name, "actor": "jane", "request_id": "r"}
    record = AuditRecord.objects.create(action="project.updated", after={"cpu": name}, **facts)
    with as_superuser() as execute:
        execute("UPDATE access_auditrecord SET at = %s WHERE id = %s", [at, record.pk])
    return int(record.pk)


@contextmanager
def as_superuser() -> Iterator[object]:
    """Statements without triggers, as somebody with all rights over the database has them."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield cursor.execute
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")


def breaks() -> list[str]:
    return [str(found) for found in verify(kept_from=EVER).breaks]


@pytest.fixture
def records(db: None) -> list[int]:
    """Three records on the first of four sealed days, and one on the second."""
    ids = [write(f"p{n}", FIRST_DAY + timedelta(minutes=n)) for n in range(3)]
    ids.append(write("later", FIRST_DAY + timedelta(days=1)))
    seal_past_days(NOW)
    return ids


def test_each_finished_day_gets_one_seal_and_an_unchanged_log_is_intact(records):
    seals = list(AuditSeal.objects.order_by("number"))

    assert [(seal.number, seal.count) for seal in seals] == [(1, 3), (2, 1), (3, 0), (4, 0), (5, 0), (6, 0)]
    assert all(bytes(b.previous_root) == bytes(a.root) for a, b in pairwise(seals))
    assert breaks() == []
    assert seal_past_days(NOW) == []


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE access_auditrecord SET actor = 'nobody' WHERE id = %s", "the record was changed"),
        ('UPDATE access_auditrecord SET after = \'{"cpu": "p01"}\' WHERE id = %s', "the record was changed"),
        ("DELETE FROM access_auditrecord WHERE id = %s", "the record was deleted"),
    ],
)
def test_a_record_that_a_superuser_changes_or_deletes_is_named_with_its_day(records, statement, what):
    with as_superuser() as execute:
        execute(statement, [records[1]])

    assert breaks() == [f"2026-03-02, record {records[1]}: {what}"]
    assert AuditCheck.objects.latest("id").break_count == 1


def test_a_record_that_is_inserted_long_after_its_day_is_named(records):
    forged = write("forged", FIRST_DAY)

    assert breaks() == [f"2026-03-02, record {forged}: the record was inserted later"]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (
            "UPDATE access_auditsegment SET ats[1] = ats[1] - interval '1 day' WHERE seal_id = 2",
            ["2026-03-03: the seal was changed"],
        ),
        (
            "DELETE FROM access_auditseal WHERE number = 4",
            ["2026-03-06: the seal before it is missing"],
        ),
        (
            "UPDATE access_auditseal SET previous_root = root WHERE number = 5",
            [
                "2026-03-06: the seal does not continue the one before it",
                "2026-03-06: the seal was changed",
            ],
        ),
        (
            "UPDATE access_auditseal SET root = decode(repeat('00', 32), 'hex') WHERE number = 6",
            ["2026-03-07: the seal was changed"],
        ),
    ],
)
def test_a_changed_or_missing_seal_is_named(records, statement, found):
    with as_superuser() as execute:
        execute(statement)

    assert breaks() == found


def test_a_record_that_commits_late_is_in_the_next_seal_with_its_true_time(records):
    late = write("late", NOW - timedelta(days=1, hours=1))

    (seal,) = seal_past_days(NOW + timedelta(days=1))

    assert (seal.count, str(seal.day)) == (1, "2026-03-08")
    assert AuditRecord.objects.get(id=late).at == NOW - timedelta(days=1, hours=1)
    assert breaks() == []


def test_the_command_names_the_first_break_and_fails(records):
    out = StringIO()
    call_command("audit_verify", stdout=out)
    assert out.getvalue().startswith("6 days with 4 records: intact. Last root: ")

    with as_superuser() as execute:
        execute("DELETE FROM access_auditrecord WHERE id = %s", [records[3]])
    with pytest.raises(CommandError, match=f"2026-03-03, record {records[3]}: the record was deleted"):
        call_command("audit_verify", stdout=StringIO())


@pytest.mark.django_db(transaction=True)
def test_sealing_and_writers_do_not_wait_for_each_other(transactional_db):
    with transaction.atomic():
        write("committed")
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": None}) as writer:
        insert = (
            "INSERT INTO access_auditrecord (at, action, object_type, object_id, actor, request_id, domain,"
            " project, workflow, launch_plan, reason)"
            " VALUES (%s, 'project.updated', 'project', 'open', 'jane', '', '', '', '', '', '')"
        )
        writer.execute(insert, [FIRST_DAY])

        with transaction.atomic():
            (seal,) = seal_past_days(FIRST_DAY + timedelta(days=1))
            writer.execute("SET LOCAL lock_timeout = '100ms'")
            writer.execute(insert, [FIRST_DAY])
            writer.commit()

    (following,) = seal_past_days(FIRST_DAY + timedelta(days=2))
    assert (seal.count, following.count) == (1, 2)
    assert breaks() == []
