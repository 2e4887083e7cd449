"""Seal the audit records of past days. Writers never wait: only committed rows are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import structlog
from django.db import connection, transaction

from controlplane.access.audit_chain.chain import FIRST_ROOT, Chain, Record
from controlplane.access.audit_chain.models import AuditSeal, AuditSegment
from controlplane.database.locks import AdvisoryLock, lock

# After the end of a day, until it is sealed: transactions of the day have ended.
_SETTLING = timedelta(hours=1)
# Records that committed after their day was sealed are looked for this far back.
LOOK_BACK = timedelta(days=2)
_SEGMENT = 1000
log = structlog.get_logger(__name__)


def seal_past_days(now: datetime) -> list[AuditSeal]:
    """Seal each day that ended an hour ago and has no seal, oldest first. Return the new seals."""
    seals = []
    while seal := _seal_next(now):
        seals.append(seal)
        # The log of a process is outside of the database: a rewritten chain has other roots.
        log.info("audit.sealed", day=str(seal.day), count=seal.count, root=bytes(seal.root).hex())
    return seals


@transaction.atomic
def _seal_next(now: datetime) -> AuditSeal | None:
    lock(AdvisoryLock.AUDIT_SEALS)
    last = AuditSeal.objects.order_by("-number").first()
    day = last.day + timedelta(days=1) if last else _first_day()
    if day is None or start_of(day) + timedelta(days=1) + _SETTLING > now:
        return None
    number, previous = (last.number + 1, bytes(last.root)) if last else (1, FIRST_ROOT)
    chain, count = Chain(previous), 0
    for place, records in enumerate(_unsealed(day)):
        # The foreign key is checked at the end of the transaction.
        AuditSegment.objects.create(**_segment(number, place, records, chain))
        count += len(records)
    root = chain.root(number, day)
    return AuditSeal.objects.create(
        number=number, day=day, count=count, previous_root=previous, root=root, sealed_at=now
    )


def _segment(number: int, place: int, records: list[Record], chain: Chain) -> dict[str, Any]:
    ats = [record.at for record in records]
    return {
        "seal_id": number,
        "place": place,
        "record_ids": [record.id for record in records],
        "ats": ats,
        "hashes": b"".join(chain.add(record) for record in records),
        "first_at": min(ats),
        "last_at": max(ats),
    }


def start_of(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _first_day() -> date | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(at) FROM access_auditrecord")
        (first,) = cursor.fetchone()
    return first.astimezone(UTC).date() if first else None


def _unsealed(day: date) -> Iterator[list[Record]]:
    """Yield the records up to the end of the day that are in no seal, by time, in parts of a segment."""
    first, end = start_of(day) - LOOK_BACK, start_of(day) + timedelta(days=1)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
    with connection.chunked_cursor() as cursor:
        cursor.execute(_UNSEALED, {"first": first, "end": end})
        while rows := cursor.fetchmany(_SEGMENT):
            yield [read_record(*row) for row in rows]


def read_record(record_id: int, at: datetime, text: str) -> Record:
    """Return a row of `COLUMNS` as a record."""
    return Record(record_id, at, json.loads(text))


# JSON columns as text: a number of any size stays as it is.
COLUMNS = """
id, at, (to_jsonb(record) || jsonb_build_object(
    'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
    'before', before::text, 'after', after::text))::text
"""
_UNSEALED = f"""
SELECT {COLUMNS} FROM access_auditrecord AS record
 WHERE at >= %(first)s AND at < %(end)s AND id NOT IN (
    SELECT unnest(record_ids) FROM access_auditsegment WHERE last_at >= %(first)s)
 ORDER BY at, id
"""  # noqa: S608  (a constant)
