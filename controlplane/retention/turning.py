"""Turn a plain log with rows into a partitioned one, while writers and readers go on.

The old table becomes the first partition, so that no row is copied. The catalogue tells which of the three
steps are done, so that a killed run goes on where it ended:

1. A check says that all rows are before a boundary. It is added without reading the rows, in milliseconds.
2. Postgres validates it. That reads the whole table, and blocks nobody.
3. In one transaction, a partitioned table takes the log's name, and the old table is attached. Thanks to the
   check no row is read, so that the lock is held for milliseconds; it is waited for at most one second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime

from django.conf import settings
from django.db import OperationalError, connection, transaction
from psycopg import sql

from controlplane.database.clock import statement_now
from controlplane.database.roles import grant
from controlplane.database.row_security import set_row_security
from controlplane.retention.logs import Log
from controlplane.retention.months import is_abandoned, turning_boundary
from controlplane.retention.partitions import is_partitioned, make_partitions

_TRIES = 60
_PAUSE_SECONDS = 2.0


def turn(log: Log, *, pause: Callable[[float], None] = time.sleep) -> Iterator[str]:
    """Yield the name of each step once it is done. Call it again after a failure; needs the tables' owner.

    Raises OperationalError if a lock cannot be had within a second in sixty tries.
    """
    if not is_partitioned(log):
        for step in (_add_boundary, _validate_boundary, _swap):
            _persist(step, log, pause)
            yield step.__name__.strip("_")
    make_partitions(log, now=statement_now())
    yield "make_partitions"


def boundary_of(log: Log) -> tuple[datetime, bool] | None:
    """Return the boundary of an unfinished turn, and whether it is validated."""
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDARY, {"log": log.table, "name": _check_name(log)})
        row: tuple[datetime, bool] | None = cursor.fetchone()
    return row


def remove_abandoned_boundary(log: Log, *, now: datetime) -> bool:
    """Remove the check of an unfinished turn that would soon refuse rows. Return whether there was one."""
    unfinished = boundary_of(log)
    if unfinished is None or is_partitioned(log) or not is_abandoned(unfinished[0], now):
        return False
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '1s'")
        cursor.execute("SELECT retention_remove_boundary(%s)", [log.table])
    return True


def _persist(step: Callable[[Log], None], log: Log, pause: Callable[[float], None]) -> None:
    for attempt in range(1, _TRIES + 1):
        try:
            step(log)
            return
        except OperationalError as error:
            # Somebody holds the table for long: others must not queue behind this step.
            if attempt == _TRIES or "lock timeout" not in str(error):
                raise
            pause(_PAUSE_SECONDS)


@transaction.atomic
def _add_boundary(log: Log) -> None:
    now = statement_now()
    remove_abandoned_boundary(log, now=now)
    if boundary_of(log):
        return
    statement = sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} CHECK (at < {}) NOT VALID")
    names = (sql.Identifier(log.table), sql.Identifier(_check_name(log)))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '1s'")
        cursor.execute(statement.format(*names, sql.Literal(turning_boundary(now).isoformat())))


@transaction.atomic
def _validate_boundary(log: Log) -> None:
    statement = sql.SQL("ALTER TABLE {} VALIDATE CONSTRAINT {}")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = 0")
        cursor.execute(statement.format(sql.Identifier(log.table), sql.Identifier(_check_name(log))))


@transaction.atomic
def _swap(log: Log) -> None:
    unfinished = boundary_of(log)
    if unfinished is None or not unfinished[1]:
        raise RuntimeError(
            f"The boundary of {log.table} is not validated. Run `manage.py partition_logs` again."
        )
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '1s'")
        cursor.execute("SELECT retention_turn(%s, %s)", [log.table, unfinished[0]])
        # The new table's rights and policies, before anybody can use it.
        grant(cursor)
        set_row_security(cursor, is_on=settings.ORGANISATIONS)


def _check_name(log: Log) -> str:
    return f"{log.table}_boundary"


_BOUNDARY = """
SELECT substring(pg_get_constraintdef(oid) FROM '''([^'']+)''')::timestamptz, convalidated
  FROM pg_constraint WHERE conrelid = to_regclass(%(log)s) AND conname = %(name)s
"""
