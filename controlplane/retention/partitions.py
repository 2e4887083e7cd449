"""Partitions of a log: list them, and make those of the coming months."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import structlog
from django.db import connection, transaction
from django.db.models import Max

from controlplane.retention.logs import AUDIT, Log
from controlplane.retention.models import Archive
from controlplane.retention.months import EVER, Partition, months_to_adopt, months_to_make, parse_partition

log_lines = structlog.get_logger(__name__)


def partitions_of(log: Log) -> list[Partition]:
    """Return the partitions of the log without its default partition; none if it is one plain table."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTITIONS, [log.table])
        parsed = [parse_partition(*row) for row in cursor.fetchall()]
    return [partition for partition in parsed if partition]


def is_partitioned(log: Log) -> bool:
    return bool(_value("SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(%s)", [log.table]))


def audit_kept_from() -> datetime:
    """Return the time before which audit records were archived and dropped.

    Both the catalogue and the archives must agree, so that a partition that was dropped by hand is found.
    """
    lowest = min((partition.lower for partition in partitions_of(AUDIT)), default=EVER)
    dropped = Archive.objects.filter(log=AUDIT.table).exclude(dropped_at=None)
    return min(lowest, dropped.aggregate(last=Max("upper_at"))["last"] or EVER)


def rows_astray(log: Log) -> tuple[int, datetime | None, datetime | None]:
    """Return the number of rows in the default partition, and their first and last time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM retention_default_rows(%s)", [log.table])
        count, first, last = cursor.fetchone()
    return count, first, last


def make_partitions(log: Log, *, now: datetime) -> int:
    """Make the partitions of this month and the next ones. Return how many were made."""
    if not is_partitioned(log):
        return 0
    _adopt_rows_astray(log)
    missing = months_to_make(partitions_of(log), now)
    for month in missing:
        _call("SELECT retention_make_partition(%s, %s)", [log.table, month])
    return len(missing)


def _adopt_rows_astray(log: Log) -> None:
    """Make the default partition the one of the months whose rows it caught: their partition was missing."""
    count, first, last = rows_astray(log)
    if not count or first is None or last is None:
        return
    bounds = months_to_adopt(partitions_of(log), first, last)
    log_lines.warning("retention.rows_astray", log=log.table, count=count, adopted=bounds is not None)
    if bounds:
        _call("SELECT retention_adopt_default(%s, %s, %s)", [log.table, *bounds])


@transaction.atomic
def _call(statement: str, parameters: list[Any]) -> None:
    with connection.cursor() as cursor:
        # Writers queue behind a statement that waits for a lock of the whole table.
        cursor.execute("SET LOCAL lock_timeout = '1s'")
        cursor.execute(statement, parameters)


def _value(statement: str, parameters: list[Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
    return row[0] if row else None


_PARTITIONS = """
SELECT relname, pg_get_expr(relpartbound, pg_class.oid)
  FROM pg_class JOIN pg_inherits ON inhrelid = pg_class.oid
 WHERE inhparent = to_regclass(%s) ORDER BY relname
"""
