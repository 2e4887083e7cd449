"""Verify the seals of the audit log against its records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import connection, transaction

from controlplane.access.audit_chain.chain import (
    HASH_SIZE,
    Break,
    Link,
    Record,
    Seal,
    check_order,
    find_breaks,
)
from controlplane.access.audit_chain.models import AuditCheck, AuditSeal, AuditSegment
from controlplane.access.audit_chain.seal import COLUMNS, LOOK_BACK, read_record, start_of

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Verification:
    """What was verified, and its breaks by day. last_root: of the newest seal, as hexadecimal."""

    seal_count: int
    record_count: int
    breaks: list[Break]
    last_root: str


def verify(*, kept_from: datetime, newest: int | None = None) -> Verification:
    """Verify the newest seals, or all of them, and record the result for the metrics.

    kept_from: earlier records were archived and dropped, so that they may be missing.
    """
    rows = list(AuditSeal.objects.order_by("number"))
    first = 0 if newest is None else max(len(rows) - newest, 0)
    breaks: list[Break] = []
    before = _seal(rows[first - 1]) if first else None
    for row in rows[first:]:
        seal = _seal(row)
        if what := check_order(seal, before):
            breaks.append(Break(seal.day, None, what))
        # Of dropped days, only the roots are left.
        if start_of(seal.day) >= kept_from:
            breaks += find_breaks(seal, _segments(seal), kept_from=kept_from)
            if start_of(seal.day) + LOOK_BACK <= start_of(rows[-1].day):
                breaks += _inserted(seal)
        before = seal
    last_root = before.root.hex() if before else ""
    return _recorded(
        Verification(len(rows) - first, sum(row.count for row in rows[first:]), breaks, last_root)
    )


def _seal(row: AuditSeal) -> Seal:
    return Seal(row.number, row.day, bytes(row.previous_root), bytes(row.root))


def _segments(seal: Seal) -> Iterator[tuple[list[Link], dict[int, Record]]]:
    """Yield the links of each segment, with the records that still exist: a day may not fit into memory."""
    for segment in AuditSegment.objects.filter(seal_id=seal.number).order_by("place").iterator(50):
        hashes = bytes(segment.hashes)
        links = [
            Link(record_id, at, hashes[n * HASH_SIZE : (n + 1) * HASH_SIZE])
            for n, (record_id, at) in enumerate(zip(segment.record_ids, segment.ats, strict=True))
        ]
        with connection.cursor() as cursor:
            cursor.execute(_BY_ID, [segment.record_ids])
            yield links, {row[0]: read_record(*row) for row in cursor.fetchall()}


def _inserted(seal: Seal) -> list[Break]:
    """Return records of the day in no seal: they were inserted long after it, or their time was changed."""
    first = start_of(seal.day)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(_INSERTED, {"first": first, "end": first + timedelta(days=1)})
        return [
            Break(seal.day, record_id, "the record was inserted later") for (record_id,) in cursor.fetchall()
        ]


def _recorded(result: Verification) -> Verification:
    first = str(result.breaks[0]) if result.breaks else ""
    AuditCheck.objects.create(
        seal_count=result.seal_count,
        record_count=result.record_count,
        break_count=len(result.breaks),
        first_break=first,
    )
    if result.breaks:
        log.error("audit.chain_broken", breaks=len(result.breaks), first=first)
    return result


_BY_ID = f"SELECT {COLUMNS} FROM access_auditrecord AS record WHERE id = ANY(%s)"  # noqa: S608  (a constant)
_INSERTED = """
SELECT id FROM access_auditrecord WHERE at >= %(first)s AND at < %(end)s AND id NOT IN (
    SELECT unnest(record_ids) FROM access_auditsegment WHERE last_at >= %(first)s AND first_at < %(end)s)
 ORDER BY id
"""
