"""Backfills: rows that a migration left for later, filled in small ranges while everything runs.

A range and the note that it is done are one transaction. So a backfill can be killed at any moment, and goes
on where it was; no row is changed twice, even by a statement for which that would matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import Error, InterfaceError, OperationalError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from psycopg.errors import QueryCanceled

from controlplane.cluster.leadership import Role, lead, resign
from controlplane.upgrades.models import BackfillProgress

# Longer than a range takes; another runner takes over so long after this one was killed.
_LEASE = timedelta(seconds=15)
MOST_ROWS = 5_000
MOST_LAG_SECONDS = 5.0
_LOCK_MS = 1_000
# Below the lease. A range that takes longer is halved.
_STATEMENT_MS = 10_000
_WAIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Backfill:
    """What to change, by ranges of a key that grows.

    name: unique, never changed. table, key, key_type: such as "registry_agent", "id", "uuid". change: a
    statement for the rows whose key is above %(after)s, up to and with %(last)s; %(after)s is NULL in the
    first range, so write `(%(after)s::uuid IS NULL OR id > %(after)s::uuid) AND id <= %(last)s::uuid`.
    """

    name: str
    table: str
    key: str
    key_type: str
    change: str


class OtherRunner(Exception):
    """Another process runs backfills."""


_registered: dict[str, Backfill] = {}


def register(backfill: Backfill) -> None:
    """Register a backfill of a package. Apps call it when they are ready."""
    _registered[backfill.name] = backfill


def registered() -> list[Backfill]:
    return list(_registered.values())


def run(backfill: Backfill, *, rows: int = MOST_ROWS, say: Callable[[str], None]) -> int:
    """Run a backfill to its end; return how many rows it has changed in all. Raises OtherRunner.

    It waits while standbys are behind, while others hold locks, and while Postgres accepts no changes.
    """
    try:
        while True:
            took_from = time.monotonic()
            try:
                if (lag := _lag_seconds()) > MOST_LAG_SECONDS:
                    say(f"{backfill.name} waits: a standby is {lag:.0f} s behind.")
                    time.sleep(_WAIT_SECONDS)
                    continue
                is_over = _change_range(backfill, rows)
            except (OperationalError, InterfaceError) as error:
                say(f"{backfill.name} waits: {(str(error).splitlines() or [''])[0]}")
                if isinstance(error.__cause__, QueryCanceled):
                    if rows == 1:
                        raise
                    rows //= 2
                connection.close_if_unusable_or_obsolete()
                time.sleep(_WAIT_SECONDS)
                continue
            if is_over:
                return BackfillProgress.objects.get(name=backfill.name).changed_rows
            # As long as it has worked: others come first.
            time.sleep(time.monotonic() - took_from)
    finally:
        _let_others_run()


@transaction.atomic
def _change_range(backfill: Backfill, rows: int) -> bool:
    """Change the next range; return whether there is none. Raises OtherRunner."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = {_LOCK_MS}; SET LOCAL statement_timeout = {_STATEMENT_MS}")
        if lead(Role.BACKFILLS, lease=_LEASE) is None:
            raise OtherRunner("Another process runs backfills. It takes 15 s until a killed one is followed.")
        BackfillProgress.objects.get_or_create(name=backfill.name)
        progress = BackfillProgress.objects.select_for_update().get(name=backfill.name)
        if progress.ended_at is not None:
            return True
        cursor.execute(_next_last(backfill), {"after": progress.after, "rows": rows})
        last = cursor.fetchone()
        mine = BackfillProgress.objects.filter(name=backfill.name)
        if last is None:
            mine.update(ended_at=Now())
            return True
        cursor.execute(backfill.change, {"after": progress.after, "last": last[0]})
        mine.update(after=last[0], changed_rows=F("changed_rows") + cursor.rowcount)
        return False


def _next_last(backfill: Backfill) -> str:
    """Return the statement that finds the last key of the next range; no row: nothing is left."""
    key, kind = backfill.key, backfill.key_type
    return f"""
SELECT part.{key}::text FROM (
    SELECT {key} FROM {backfill.table} WHERE %(after)s::{kind} IS NULL OR {key} > %(after)s::{kind}
     ORDER BY {key} LIMIT %(rows)s
) AS part ORDER BY part.{key} DESC LIMIT 1"""  # noqa: S608  (names from our code)


def _let_others_run() -> None:
    try:
        resign(Role.BACKFILLS)
    except Error:
        connection.close()


def _lag_seconds() -> float:
    with connection.cursor() as cursor:
        cursor.execute(_LAG)
        return float(cursor.fetchone()[0])


# Seen by members of pg_read_all_stats. Who is silent is as far behind as it is silent.
_LAG = """
SELECT coalesce(extract(epoch FROM max(
           greatest(replay_lag, CASE WHEN silence > interval '20 s' THEN silence END))), 0)::float
  FROM pg_stat_replication, LATERAL (SELECT clock_timestamp() - reply_time AS silence) AS heard
 WHERE replay_lsn IS NOT NULL AND replay_lsn <> sent_lsn
"""
