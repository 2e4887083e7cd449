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
from controlplane.pools.terms import (
    Door,
    GrantMode,
    Lease,
    LeaseState,
    PoolTerms,
    competing_scope,
    lease_key,
)
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
    with connection.cursor() as cursor:
        # The ORM would take a third of the time of a whole lease to write this.
        cursor.execute(_LOCK_POOL, [pool_id])
        row = cursor.fetchone()
    if row is None:
        raise UnknownPool("The pool was deleted meanwhile.")
    labels = _POOL_FIELDS.index("labels")
    return Pool.from_db("default", _POOL_FIELDS, [*row[:labels], json.loads(row[labels]), *row[labels + 1 :]])


def load(pool_id: UUID, operations: Sequence[Operation], *, depth: int = FIRST_OF_QUEUE) -> Loaded:
    """Lock a pool and read what the operations concern. Raises UnknownPool.

    depth: how many waiting requests of each competing scope are read.
    """
    pool = lock_pool(pool_id)
    limits = limits_of(pool_id, pool.limits_version)
    leases, now = _read_leases(pool_id, operations)
    scopes = [operation.scope for operation in operations if isinstance(operation, Acquire)]
    scopes += [lease.scope for lease in leases] + [limit.scope for limit in limits.guaranteed()]
    ledger = read_ledger(pool_id, _rungs(scopes))
    queue = _read_queue(pool_id, depth) if _may_grant(pool, ledger, operations) else []
    if queue:
        ledger = read_ledger(pool_id, _rungs([*scopes, *(lease.scope for lease in queue)]))
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


def _rungs(scopes: Iterable[Scope]) -> set[Scope]:
    return {Scope(), *(rung for scope in set(scopes) for rung in scope.ladder())}


def _may_grant(pool: Pool, ledger: Ledger, operations: Sequence[Operation]) -> bool:
    """Return whether requests wait that may get units in this batch."""
    frees = any(isinstance(operation, Release) for operation in operations)
    return ledger.waiting(Scope()) > 0 and (frees or ledger.used(Scope()) < pool.capacity)


def save(loaded: Loaded, outcome: Outcome) -> None:
    """Write the outcome of a batch, leases, usage, and the pool's row, in one statement."""
    pool, state = loaded.pool, loaded.state
    head = state.head
    written = (head.lease_id, head.since) if head else (None, None)
    if not outcome.leases and written == (pool.head_lease_id, pool.head_since):
        return
    values: dict[str, Any] = {
        "pool": pool.id,
        "leases": recordset(_lease_row(lease, state.terms) for lease in outcome.leases.values()),
        "usage": recordset(_usage_rows(state.ledger)),
        "epoch": state.epoch,
        "head": written[0],
        "head_since": written[1],
        "mean": state.mean_hold_seconds,
        "clock": state.ledger.clock,
        "granted": state.epoch != pool.epoch,
        "now": state.now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SAVE, values)


@lru_cache(maxsize=256)
def limits_of(pool_id: UUID, version: UUID) -> Limits:
    """Return the limits of a pool, kept in memory as long as their version stays."""
    return Limits.of(row.terms for row in PoolLimit.objects.filter(pool_id=pool_id))


def _usage_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """Return units and requests to add to the rows of their scopes."""
    return [
        {
            **as_row(scope),
            "used": counts.used,
            "waiting": counts.waiting,
            "turn": ledger.turns.get(scope, 0.0),
        }
        for scope, counts in ledger.changes.items()
    ]


def fair_key(terms: PoolTerms, scope: Scope) -> UUID:
    """Return the key of the scope that competes for units."""
    return lease_key(competing_scope(terms, scope), "")


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
        json.loads(attributes),
    )


def _read_leases(pool_id: UUID, operations: Sequence[Operation]) -> tuple[list[Lease], Any]:
    """Return the live leases that operations name, and the time after the lock was obtained."""
    keys = [operation.key for operation in operations if isinstance(operation, Acquire | Release)]
    ids = [operation.lease_id for operation in operations if not isinstance(operation, Acquire)]
    values: dict[str, Any] = {
        "pool": pool_id,
        "keys": [key for key in keys if key],
        "ids": [i for i in ids if i],
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ_LEASES, values)
        rows = cursor.fetchall()
    return [lease_from(row) for row in rows if row[0]], rows[0][-1]


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


def _lease_row(lease: Lease, terms: PoolTerms) -> dict[str, Any]:
    times = {
        "requested_at": lease.requested_at,
        "granted_at": lease.granted_at,
        "expires_at": lease.expires_at,
        "ended_at": lease.ended_at,
    }
    return {
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
        **{name: time.isoformat() if time else None for name, time in times.items()},
    }


_POOL_FIELDS = [field.attname for field in Pool._meta.concrete_fields]
_LOCK_POOL = f"""
SELECT {", ".join(str(field.column) for field in Pool._meta.concrete_fields)} FROM pools_pool
 WHERE id = %s FOR NO KEY UPDATE
"""  # noqa: S608  (column names of our own)
# One row at least, for the time. Two looks at an index: with OR, Postgres may read all leases of the pool.
_READ_LEASES = f"""
SELECT lease.*, statement_timestamp() FROM (SELECT) AS clock LEFT JOIN (
    SELECT {_LEASE_COLUMNS} FROM pools_poollease
     WHERE pool_id = %(pool)s AND key = ANY(%(keys)s::uuid[]) AND state IN ('waiting', 'granted')
    UNION ALL
    SELECT {_LEASE_COLUMNS} FROM pools_poollease
     WHERE id = ANY(%(ids)s::uuid[]) AND pool_id = %(pool)s AND state IN ('waiting', 'granted')
) AS lease ON true
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
       -- A request that nobody repeats gets nothing, also before the sweep has seen it.
       AND expires_at > statement_timestamp()
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
_SAVE = """
WITH counted AS (
    INSERT INTO pools_poolusage AS usage (
        pool_id, project, domain, workflow, launch_plan, used, waiting, turn)
    SELECT %(pool)s, p, d, w, l, used, waiting, turn
      FROM json_to_recordset(%(usage)s) AS added(
        p text, d text, w text, l text, used bigint, waiting int, turn float8)
        ON CONFLICT (pool_id, project, domain, workflow, launch_plan)
        DO UPDATE SET used = usage.used + excluded.used, waiting = usage.waiting + excluded.waiting,
                      turn = greatest(usage.turn, excluded.turn)
), leased AS (
    INSERT INTO pools_poollease AS lease (
        id, pool_id, key, fair_key, token, project, domain, workflow, launch_plan, units, state, priority,
        holder_id, door, attributes, lease_seconds, epoch, requested_at, granted_at, expires_at, ended_at)
    SELECT id, %(pool)s, key, fair, token, p, d, w, l, units, state, priority, holder, door, attributes,
           seconds, epoch, requested_at, granted_at, expires_at, ended_at
      FROM json_to_recordset(%(leases)s) AS added(
        p text, d text, w text, l text, id uuid, key uuid, fair uuid, token text, units int, state text,
        priority smallint, holder uuid, door text, attributes jsonb, seconds int, epoch bigint,
        requested_at timestamptz, granted_at timestamptz, expires_at timestamptz, ended_at timestamptz)
        ON CONFLICT (id) DO UPDATE
       SET state = excluded.state, priority = excluded.priority, lease_seconds = excluded.lease_seconds,
           epoch = excluded.epoch, granted_at = excluded.granted_at, expires_at = excluded.expires_at,
           ended_at = excluded.ended_at
)
UPDATE pools_pool
   SET epoch = %(epoch)s, head_lease_id = %(head)s, head_since = %(head_since)s, mean_hold_seconds = %(mean)s,
       clock = %(clock)s,
       last_grant_at = CASE WHEN %(granted)s THEN %(now)s::timestamptz ELSE last_grant_at END
 WHERE id = %(pool)s
"""
