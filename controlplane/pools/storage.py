"""Pools in Postgres: read what a batch concerns, under the lock of the pool's row, and write its outcome."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import connection

from controlplane.database.bulk import recordset
from controlplane.database.scoped import as_row
from controlplane.errors import UnknownPool
from controlplane.pools.batch import Outcome, PoolState
from controlplane.pools.ledger import Counts, Ledger, Limits
from controlplane.pools.models import Pool, PoolLimit
from controlplane.pools.operations import Acquire, Operation, Release
from controlplane.pools.queue_order import Head
from controlplane.pools.terms import Door, GrantMode, Lease, LeaseState, PoolTerms, fair_scope, lease_key
from controlplane.scopes import Scope

_LEASE_COLUMNS = (
    "id, token, domain, project, workflow, launch_plan, units, state, requested_at, priority, granted_at,"
    " expires_at, ended_at, epoch, lease_seconds, holder_id, door, attributes"
)
# Waiting requests of each competing scope that a batch reads at first.
FIRST_OF_QUEUE = 50


@dataclass(slots=True)
class Loaded:
    """A locked pool with its state."""

    pool: Pool
    state: PoolState


def lock_pool(pool_id: UUID) -> Pool:
    """Lock a pool. Raises UnknownPool."""
    pool = Pool.objects.select_for_update(no_key=True).filter(id=pool_id).first()
    if pool is None:
        raise UnknownPool("The pool was deleted meanwhile.")
    return pool


def load(pool_id: UUID, operations: Sequence[Operation], *, depth: int = FIRST_OF_QUEUE) -> Loaded:
    """Lock a pool and read what the operations concern. Raises UnknownPool.

    depth: how many waiting requests of each competing scope are read.
    """
    pool = lock_pool(pool_id)
    leases, now = _read_leases(pool_id, operations)
    total = read_ledger(pool_id, [Scope()]).counts.get(Scope(), Counts())
    frees = total.used < pool.capacity or any(isinstance(operation, Release) for operation in operations)
    queue = _read_queue(pool_id, depth) if total.waiting and frees else []
    limits = limits_of(pool_id, pool.limits_version)
    scopes = [operation.scope for operation in operations if isinstance(operation, Acquire)]
    scopes += [lease.scope for lease in (*leases, *queue)] + [limit.scope for limit in limits.guaranteed()]
    ledger = read_ledger(pool_id, {Scope(), *(rung for scope in set(scopes) for rung in scope.ladder())})
    ledger.clock = pool.clock
    state = PoolState(
        pool.terms,
        now,
        limits,
        ledger,
        {lease.id: lease for lease in (*leases, *queue)},
        queue,
        Head(pool.head_lease_id, pool.head_since) if pool.head_lease_id and pool.head_since else None,
        pool.epoch,
        pool.mean_hold_seconds,
    )
    return Loaded(pool, state)


def save(loaded: Loaded, outcome: Outcome) -> None:
    """Write the outcome of a batch: leases, usage, and the pool's row."""
    pool, state = loaded.pool, loaded.state
    if outcome.leases:
        _write_leases(pool.id, state.terms, outcome.leases.values())
    _add_usage(pool.id, state.ledger)
    has_grant = state.epoch != pool.epoch
    head = state.head
    written = (head.lease_id, head.since) if head else (None, None)
    if not has_grant and not outcome.leases and written == (pool.head_lease_id, pool.head_since):
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _SAVE_POOL,
            [
                state.epoch,
                *written,
                state.mean_hold_seconds,
                state.ledger.clock,
                has_grant,
                state.now,
                pool.id,
            ],
        )


@lru_cache(maxsize=256)
def limits_of(pool_id: UUID, version: UUID) -> Limits:
    """Return the limits of a pool, kept in memory as long as their version stays."""
    return Limits.of(row.terms for row in PoolLimit.objects.filter(pool_id=pool_id))


def _add_usage(pool_id: UUID, ledger: Ledger) -> None:
    """Add units and requests to the rows of their scopes."""
    rows = [
        {
            **as_row(scope),
            "used": counts.used,
            "waiting": counts.waiting,
            "turn": ledger.turns.get(scope, 0.0),
        }
        for scope, counts in ledger.changes.items()
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_ADD_USAGE, {"pool": pool_id, "rows": recordset(rows)})


def fair_key(terms: PoolTerms, scope: Scope) -> UUID:
    """Return the key of the scope that competes for units; one for all without fairness."""
    is_fair = terms.grant_mode is GrantMode.FAIR
    return lease_key(fair_scope(scope, terms.fair_level) if is_fair else Scope(), "")


def lease_from(row: Sequence[Any]) -> Lease:
    """Return the lease of a row with the columns of _LEASE_COLUMNS."""
    lease_id, token, *path, units, state, requested_at, priority, granted_at, expires_at, ended_at = row[:13]
    epoch, lease_seconds, holder_id, door, attributes = row[13:18]
    return Lease(
        lease_id,
        token,
        Scope(*path),
        units,
        LeaseState(state),
        requested_at,
        priority,
        granted_at,
        expires_at,
        ended_at,
        epoch,
        lease_seconds,
        holder_id,
        Door(door),
        json.loads(attributes) if isinstance(attributes, str) else attributes,
    )


def _read_leases(pool_id: UUID, operations: Sequence[Operation]) -> tuple[list[Lease], Any]:
    """Return the live leases that operations name, and the time after the lock was obtained."""
    keys = [operation.key for operation in operations if isinstance(operation, Acquire | Release)]
    ids = [operation.lease_id for operation in operations if not isinstance(operation, Acquire)]
    with connection.cursor() as cursor:
        cursor.execute(
            _READ_LEASES,
            {"pool": pool_id, "keys": [key for key in keys if key], "ids": [i for i in ids if i]},
        )
        rows = cursor.fetchall()
        if rows:
            return [lease_from(row) for row in rows], rows[0][-1]
        cursor.execute("SELECT statement_timestamp()")
        return [], cursor.fetchone()[0]


def _read_queue(pool_id: UUID, depth: int) -> list[Lease]:
    with connection.cursor() as cursor:
        cursor.execute(_READ_QUEUE, {"pool": pool_id, "depth": depth})
        return [lease_from(row) for row in cursor.fetchall()]


def read_ledger(pool_id: UUID, scopes: Iterable[Scope]) -> Ledger:
    """Return what the scopes use now."""
    ledger = Ledger()
    with connection.cursor() as cursor:
        cursor.execute(_READ_USAGE, {"pool": pool_id, "rows": recordset(as_row(scope) for scope in scopes)})
        for *path, used, waiting, turn in cursor.fetchall():
            scope = Scope(*path)
            ledger.counts[scope] = Counts(used, waiting)
            ledger.turns[scope] = turn
    return ledger


def _write_leases(pool_id: UUID, terms: PoolTerms, leases: Iterable[Lease]) -> None:
    rows = [
        {
            **as_row(lease.scope),
            "id": str(lease.id),
            "key": str(lease.key),
            "fair": str(fair_key(terms, lease.scope)),
            "token": lease.token,
            "units": lease.units,
            "state": lease.state.value,
            "priority": lease.priority if terms.grant_mode is GrantMode.FAIR else 0,
            "holder": str(lease.holder_id) if lease.holder_id else None,
            "door": lease.door.value,
            "attributes": dict(lease.attributes),
            "seconds": lease.lease_seconds,
            "epoch": lease.epoch,
            **{
                name: time.isoformat() if time else None
                for name, time in (
                    ("requested_at", lease.requested_at),
                    ("granted_at", lease.granted_at),
                    ("expires_at", lease.expires_at),
                    ("ended_at", lease.ended_at),
                )
            },
        }
        for lease in leases
    ]
    with connection.cursor() as cursor:
        cursor.execute(_WRITE_LEASES, {"pool": pool_id, "rows": recordset(rows)})


_READ_LEASES = f"""
SELECT {_LEASE_COLUMNS}, statement_timestamp() FROM pools_poollease
 WHERE pool_id = %(pool)s AND state IN ('waiting', 'granted')
   AND (key = ANY(%(keys)s::uuid[]) OR id = ANY(%(ids)s::uuid[]))
"""  # noqa: S608  (column names of our own)
# The competing scopes one after the other: each step of the recursion is one look at the index.
_READ_QUEUE = f"""
WITH RECURSIVE competing AS (
    (SELECT fair_key FROM pools_poollease WHERE pool_id = %(pool)s AND state = 'waiting'
      ORDER BY fair_key LIMIT 1)
    UNION ALL
    SELECT (SELECT lease.fair_key FROM pools_poollease lease
             WHERE lease.pool_id = %(pool)s AND lease.state = 'waiting'
               AND lease.fair_key > competing.fair_key
             ORDER BY lease.fair_key LIMIT 1)
      FROM competing WHERE competing.fair_key IS NOT NULL
)
SELECT waiting.* FROM competing CROSS JOIN LATERAL (
    SELECT {_LEASE_COLUMNS} FROM pools_poollease
     WHERE pool_id = %(pool)s AND state = 'waiting' AND fair_key = competing.fair_key
     ORDER BY priority DESC, requested_at, id LIMIT %(depth)s
) waiting
"""  # noqa: S608  (column names of our own)
_READ_USAGE = """
SELECT usage.domain, usage.project, usage.workflow, usage.launch_plan, usage.used, usage.waiting,
       usage.turn
  FROM json_to_recordset(%(rows)s) AS wanted(p text, d text, w text, l text)
  JOIN pools_poolusage usage ON usage.pool_id = %(pool)s AND usage.project = wanted.p
   AND usage.domain = wanted.d AND usage.workflow = wanted.w AND usage.launch_plan = wanted.l
"""
# In one order, although the pool's row is locked: the reconciler meets no deadlock either.
_ADD_USAGE = """
INSERT INTO pools_poolusage AS usage (pool_id, project, domain, workflow, launch_plan, used, waiting, turn)
SELECT %(pool)s, p, d, w, l, used, waiting, turn
  FROM json_to_recordset(%(rows)s) AS added(p text, d text, w text, l text, used bigint, waiting int,
                                           turn float8)
 ORDER BY p, d, w, l
    ON CONFLICT (pool_id, project, domain, workflow, launch_plan)
    DO UPDATE SET used = usage.used + excluded.used, waiting = usage.waiting + excluded.waiting,
                  turn = greatest(usage.turn, excluded.turn)
"""
_WRITE_LEASES = """
INSERT INTO pools_poollease AS lease (
    id, pool_id, key, fair_key, token, project, domain, workflow, launch_plan, units, state, priority,
    holder_id, door, attributes, lease_seconds, epoch, requested_at, granted_at, expires_at, ended_at)
SELECT id, %(pool)s, key, fair, token, p, d, w, l, units, state, priority, holder, door, attributes, seconds,
       epoch, requested_at, granted_at, expires_at, ended_at
  FROM json_to_recordset(%(rows)s) AS added(
    p text, d text, w text, l text, id uuid, key uuid, fair uuid, token text, units int, state text,
    priority smallint, holder uuid, door text, attributes jsonb, seconds int, epoch bigint,
    requested_at timestamptz, granted_at timestamptz, expires_at timestamptz, ended_at timestamptz)
    ON CONFLICT (id) DO UPDATE
   SET state = excluded.state, priority = excluded.priority, lease_seconds = excluded.lease_seconds,
       epoch = excluded.epoch, granted_at = excluded.granted_at, expires_at = excluded.expires_at,
       ended_at = excluded.ended_at
"""
_SAVE_POOL = """
UPDATE pools_pool
   SET epoch = %s, head_lease_id = %s, head_since = %s, mean_hold_seconds = %s, clock = %s,
       last_grant_at = CASE WHEN %s THEN %s::timestamptz ELSE last_grant_at END
 WHERE id = %s
"""
