"""Archives of past months, and dropping only what is archived, verified and not held."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from controlplane.access.audit_chain.seal import seal_past_days
from controlplane.access.audit_chain.verify import verify as verify_chain
from controlplane.access.models import AuditRecord
from controlplane.database.clock import statement_now
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.identity.actors import system
from controlplane.retention.archive import lines
from controlplane.retention.cycle import Outcome, drop_partition, retain
from controlplane.retention.holds import place_hold, release_hold
from controlplane.retention.logs import AUDIT, EVENTS
from controlplane.retention.manifests import ArchiveInvalid
from controlplane.retention.models import Archive
from controlplane.retention.partitions import audit_kept_from, make_partitions, partitions_of, rows_astray
from controlplane.retention.stores import RemoteStore, open_store
from controlplane.scopes import Scope

pytestmark = pytest.mark.django_db

OLD = datetime(2026, 2, 10, tzinfo=UTC)
EVENTS_PART, AUDIT_PART = "events_event_2026_02", "access_auditrecord_2026_02"


@pytest.fixture
def folder(db: None, settings, tmp_path: Path) -> Path:
    """With a partition of a past month for both logs."""
    settings.ARCHIVE_URL = f"file://{tmp_path}"
    with connection.cursor() as cursor:
        for table in ("events_event", "access_auditrecord"):
            cursor.execute("SELECT retention_make_partition(%s, '2026-02-01Z')", [table])
    return tmp_path


@pytest.fixture
def old_events(folder: Path) -> Iterator[Path]:
    write_event("a", OLD)
    write_event("b", OLD + timedelta(hours=1), project="ads")
    write_event("new", statement_now())
    log.number_committed()
    return folder


def write_event(name: str, at: datetime, project: str = "") -> None:
    facts = {"object_type": "project", "object_id": name, "actor": "jane", "project": project}
    Event.objects.create(type="project.updated", at=at, data={"project": name}, **facts)


def refusal(outcome: Outcome) -> str:
    return outcome.refused.get(EVENTS_PART, "")


def test_an_old_month_is_archived_and_verified_and_dropped_and_its_number_kept(old_events):
    outcome = retain(now=statement_now())

    # Audit records are kept longer.
    assert (outcome.archived, outcome.dropped) == ([EVENTS_PART, AUDIT_PART], [EVENTS_PART])
    manifest = json.loads((old_events / "events_event" / f"{EVENTS_PART}.manifest.json").read_text())
    assert (manifest["count"], manifest["first_seq"], manifest["last_seq"]) == (2, 1, 2)
    assert log.dropped_number() == 2
    assert [event.object_id for event in Event.objects.filter(type="project.updated")] == ["new"]
    assert AuditRecord.objects.filter(action="log_partition.dropped", object_id=EVENTS_PART).exists()
    rows = [json.loads(line) for line in lines(EVENTS, EVENTS_PART, open_store(str(old_events)))]
    assert [(row["seq"], row["object_id"]) for row in rows] == [(1, "a"), (2, "b")]


def test_a_month_without_an_archive_is_not_dropped(old_events):
    with pytest.raises(ArchiveInvalid, match="manifest of events_event_2026_02 cannot be read"):
        drop_partition(EVENTS, EVENTS_PART, open_store(str(old_events)))
    # Nor by calling the function of the database itself.
    with pytest.raises(DatabaseError, match="has no verified archive"), transaction.atomic():
        call_drop()

    assert Event.objects.filter(object_id="a").exists()


def call_drop(name: str = EVENTS_PART) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT retention_drop_partition('events_event', %s)", [name])


@pytest.mark.parametrize("place", [5, 40, -3])
def test_an_archive_with_one_changed_byte_is_refused_and_nothing_is_dropped(old_events, settings, place):
    settings.EVENTS_RETENTION_DAYS = 9999
    retain(now=statement_now())
    file = old_events / "events_event" / f"{EVENTS_PART}.jsonl.zst"
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)

    settings.EVENTS_RETENTION_DAYS = 90
    outcome = retain(now=statement_now())

    assert refusal(outcome).startswith("The archive of events_event_2026_02")
    assert Event.objects.filter(object_id="a").exists()
    with pytest.raises(CommandError, match="events_event_2026_02"):
        call_command("archive_logs", "--verify", EVENTS_PART, stdout=StringIO())


def test_a_row_that_came_after_the_archive_is_not_lost(old_events, settings):
    settings.EVENTS_RETENTION_DAYS = 9999
    retain(now=statement_now())
    write_event("late", OLD)
    log.number_committed()
    settings.EVENTS_RETENTION_DAYS = 90

    assert "has 2 rows, the partition has 3" in refusal(retain(now=statement_now()))

    call_command("archive_logs", "--again", EVENTS_PART, stdout=StringIO())
    assert retain(now=statement_now()).dropped == [EVENTS_PART]


def test_the_current_month_is_never_dropped(old_events):
    name = f"events_event_{statement_now():%Y_%m}"

    with pytest.raises(DatabaseError, match="is not a past partition"), transaction.atomic():
        call_drop(name)


def test_a_legal_hold_keeps_the_months_with_rows_in_its_scope(old_events):
    now, actor = statement_now(), system("tests")
    place_hold(Scope(project="other"), until=None, reason="Case 1", actor=actor)
    place_hold(Scope(), until=now - timedelta(days=1), reason="Case 2", actor=actor)
    hold = place_hold(Scope(project="ads"), until=now + timedelta(days=1), reason="Case 3", actor=actor)

    assert refusal(retain(now=now)) == "a legal hold keeps events_event_2026_02"

    release_hold(hold.pk, now=now, actor=actor)
    assert EVENTS_PART in retain(now=now).dropped


def test_audit_records_are_sealed_before_they_are_dropped_and_the_chain_stays_whole(folder):
    facts = {"object_type": "project", "object_id": "a", "actor": "jane", "request_id": "r"}
    AuditRecord.objects.create(action="project.updated", at=OLD, **facts)
    now = OLD + timedelta(days=500)

    assert "is not sealed up to 2026-02-28" in retain(now=now).refused[AUDIT_PART]
    with pytest.raises(DatabaseError, match="has records that are not sealed"), transaction.atomic():
        forge_archive(AUDIT_PART)

    seal_past_days(OLD + timedelta(days=40))
    assert retain(now=now).dropped == [AUDIT_PART]
    assert verify_chain(kept_from=audit_kept_from()).breaks == []
    assert Archive.objects.get(partition=AUDIT_PART).root


def forge_archive(name: str) -> None:
    key = AuditRecord.objects.get(object_id="a").pk
    keys = {"first_key": key, "last_key": key, "count": 1}
    Archive.objects.create(partition=name, log=AUDIT.table, upper_at=OLD, **keys)
    with connection.cursor() as cursor:
        cursor.execute("SELECT retention_drop_partition(%s, %s)", [AUDIT.table, name])


def test_an_archive_can_be_filtered_and_restored_beside_the_log(old_events, capsys):
    retain(now=statement_now())

    call_command("archive_read", EVENTS_PART, "--object-id", "b", "--since", "2026-02-10T00:30Z")
    call_command("archive_read", EVENTS_PART, "--restore-into", "restored", stdout=StringIO())

    assert json.loads(capsys.readouterr().out)["object_id"] == "b"
    with connection.cursor() as cursor:
        cursor.execute("SELECT seq, at, data->>'project' FROM restored ORDER BY seq")
        assert cursor.fetchall() == [(1, OLD, "a"), (2, OLD + timedelta(hours=1), "b")]


def test_archives_go_to_any_store_that_fsspec_can_open(old_events, settings):
    settings.ARCHIVE_URL = "memory://archives"

    assert EVENTS_PART in retain(now=statement_now()).dropped

    assert isinstance(open_store("memory://archives"), RemoteStore)
    assert len(list(lines(EVENTS, EVENTS_PART, open_store("memory://archives")))) == 2


def test_rows_of_a_month_without_a_partition_get_theirs(folder):
    write_event("astray", datetime(2025, 7, 4, tzinfo=UTC))
    assert rows_astray(EVENTS)[0] == 1

    make_partitions(EVENTS, now=statement_now())

    assert rows_astray(EVENTS)[0] == 0
    assert "events_event_2025_07" in [part.name for part in partitions_of(EVENTS)]
    assert Event.objects.filter(object_id="astray").exists()
