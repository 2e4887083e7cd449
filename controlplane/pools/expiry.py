"""The sweep of pools: ends leases that nobody renewed, and requests that nobody repeated.

After an outage of the control plane, holders first have the time of a whole lease to renew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.errors import UnknownPool
from controlplane.events import log
from controlplane.pools.event_types import POOL_EXHAUSTED, POOL_LEASE_EXPIRED, POOL_RECOVERED
from controlplane.pools.leasing import ACTOR, run_operations
from controlplane.pools.models import Pool, PoolSweep
from controlplane.pools.operations import Release, Released
from controlplane.pools.terms import PATIENCE, Lease, LeaseState

# A longer pause of the sweep may have been an outage of everything.
OUTAGE_GAP = timedelta(seconds=10)
# Ended leases stay readable for so long.
_KEPT = timedelta(hours=1)
_MOST_EXPIRED, _MOST_DELETED = 5_000, 5_000


def sweep_pools() -> int:
    """End what is overdue and note exhausted pools; return how many leases ended. Safe in any number."""
    reachable_since = _record_sweep()
    if reachable_since is None:
        return 0
    due: dict[UUID, list[UUID]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [reachable_since, PATIENCE.total_seconds(), reachable_since, _MOST_EXPIRED])
        for pool_id, lease_id in cursor.fetchall():
            due[pool_id].append(lease_id)
    ended = sum(_expire(pool_id, lease_ids) for pool_id, lease_ids in due.items())
    _note_starvation()
    return ended


def restart_grace() -> None:
    """Give all holders the time of a lease to renew, as after an outage: it was refused until now."""
    PoolSweep.objects.filter(id=1).update(reachable_since=Now())


def delete_ended() -> int:
    """Delete leases that ended long ago, in short transactions; return how many."""
    total, deleted = 0, _MOST_DELETED
    while deleted == _MOST_DELETED:
        with connection.cursor() as cursor:
            cursor.execute(_DELETE_ENDED, [_KEPT.total_seconds(), _MOST_DELETED])
            deleted = int(cursor.rowcount)
        total += deleted
    return total


@transaction.atomic
def _record_sweep() -> datetime | None:
    """Record that a sweep runs; return since when they have run without a gap. None: another one runs."""
    PoolSweep.objects.get_or_create(id=1)
    record = PoolSweep.objects.select_for_update(skip_locked=True).annotate(now=Now()).filter(id=1).first()
    if record is None:
        return None
    now: datetime = record.now
    had_gap = record.last_sweep_at is None or now - record.last_sweep_at > OUTAGE_GAP
    if had_gap or record.reachable_since is None:
        record.reachable_since = now
    record.last_sweep_at = now
    record.save(update_fields=["last_sweep_at", "reachable_since"])
    return record.reachable_since


def _expire(pool_id: UUID, lease_ids: Collection[UUID]) -> int:
    try:
        return _expire_locked(pool_id, lease_ids)
    except UnknownPool:
        return 0


@transaction.atomic
def _expire_locked(pool_id: UUID, lease_ids: Collection[UUID]) -> int:
    """End those that were not renewed since the sweep looked; return how many."""
    asked = [Release(lease_id, if_expired=True, state=LeaseState.EXPIRED) for lease_id in lease_ids]
    results = run_operations(pool_id, asked)
    ended = [result.lease for result in results if isinstance(result, Released) and result.lease]
    log.append_each(_expired_events(Pool.objects.get(id=pool_id), ended))
    return len(ended)


def _expired_events(pool: Pool, leases: Iterable[Lease]) -> list[log.Entry]:
    return [
        log.Entry(
            POOL_LEASE_EXPIRED,
            "pool_lease",
            str(lease.id),
            {"pool": pool.name, "lease": str(lease.id), "token": lease.token, "units": lease.units},
            ACTOR,
            lease.scope,
            "",
            pool.team_id,
        )
        for lease in leases
        if lease.state is LeaseState.EXPIRED
    ]


@transaction.atomic
def _note_starvation() -> None:
    """Record each pool whose requests get nothing, once, and each that has recovered."""
    with connection.cursor() as cursor:
        cursor.execute(_EXHAUSTED)
        exhausted = cursor.fetchall()
        cursor.execute(_RECOVERED)
        recovered = cursor.fetchall()
    entries = [
        log.Entry(
            POOL_EXHAUSTED, "pool", str(pool_id), {"pool": name, "waiting": waiting}, ACTOR, team_id=team
        )
        for pool_id, name, team, waiting in exhausted
    ]
    entries += [
        log.Entry(POOL_RECOVERED, "pool", str(pool_id), {"pool": name}, ACTOR, team_id=team)
        for pool_id, name, team in recovered
    ]
    if entries:
        log.append_each(entries)


_DUE = """
SELECT pool_id, id FROM pools_poollease
 WHERE state IN ('waiting', 'granted') AND expires_at <= statement_timestamp()
   AND CASE state WHEN 'waiting' THEN %s::timestamptz + %s * interval '1 second' <= statement_timestamp()
       ELSE %s::timestamptz + lease_seconds * interval '1 second' <= statement_timestamp() END
 ORDER BY expires_at LIMIT %s
"""
_DELETE_ENDED = """
DELETE FROM pools_poollease WHERE id IN (
    SELECT id FROM pools_poollease
     WHERE ended_at < statement_timestamp() - %s * interval '1 second' ORDER BY ended_at LIMIT %s)
"""
_EXHAUSTED = """
UPDATE pools_pool pool SET starved_since = statement_timestamp()
  FROM pools_poolusage usage
 WHERE usage.pool_id = pool.id AND usage.project = '' AND usage.domain = '' AND usage.workflow = ''
   AND usage.launch_plan = '' AND usage.waiting > 0 AND pool.starved_since IS NULL
   AND coalesce(pool.last_grant_at, '-infinity') < statement_timestamp() - interval '60 seconds'
   AND EXISTS (SELECT FROM pools_poollease lease WHERE lease.pool_id = pool.id AND lease.state = 'waiting'
                  AND lease.requested_at < statement_timestamp() - interval '60 seconds')
RETURNING pool.id, pool.name, pool.team_id, usage.waiting
"""
_RECOVERED = """
UPDATE pools_pool pool SET starved_since = NULL
 WHERE pool.starved_since IS NOT NULL
   AND (pool.last_grant_at > pool.starved_since OR NOT EXISTS (
       SELECT FROM pools_poollease lease WHERE lease.pool_id = pool.id AND lease.state = 'waiting'))
RETURNING pool.id, pool.name, pool.team_id
"""
