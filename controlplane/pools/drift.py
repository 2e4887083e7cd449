"""Compares the units in use with the leases, and counts again where they differ."""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.errors import UnknownPool
from controlplane.events import log
from controlplane.pools.event_types import POOL_MENDED
from controlplane.pools.leasing import ACTOR
from controlplane.pools.models import PoolSweep
from controlplane.pools.quotas import quota_pools
from controlplane.pools.storage import lock_pool

# Rows of scopes that nobody uses any more are deleted when there are so many.
_MOST_UNUSED = 1_000


def mend_drift() -> int:
    """Count again where the counts differ from the leases; return by how many units they differed.

    Leases and counts are written together, so one statement sees both as of one moment, without a lock.
    Quotas have no leases (quotas.recount).
    """
    quotas = [pool.id for pool in quota_pools()]
    with connection.cursor() as cursor:
        cursor.execute(_DRIFT, {"pool": None, "quotas": quotas})
        drifts = cursor.fetchall()
    total = int(sum(units for _, units in drifts))
    if total:
        # A worker's own metrics are not scraped.
        PoolSweep.objects.update_or_create(id=1, defaults={"drift": total, "drifted_at": Now()})
    for pool_id, _ in drifts:
        _mend(pool_id)
    _delete_unused()
    return total


def _mend(pool_id: UUID) -> None:
    try:
        _mend_locked(pool_id)
    except UnknownPool:
        return


@transaction.atomic
def _mend_locked(pool_id: UUID) -> None:
    pool = lock_pool(pool_id)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pools_poolusage SET used = 0, waiting = 0 WHERE pool_id = %s", [pool_id])
        cursor.execute(_COUNT, {"pool": pool_id})
    log.append_each(
        [log.Entry(POOL_MENDED, "pool", str(pool_id), {"pool": pool.name}, ACTOR, team_id=pool.team_id)]
    )


@transaction.atomic
def _delete_unused() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_MANY_UNUSED, [_MOST_UNUSED])
        for (pool_id,) in cursor.fetchall():
            lock_pool(pool_id)
            cursor.execute(
                "DELETE FROM pools_poolusage WHERE pool_id = %s AND used = 0 AND waiting = 0", [pool_id]
            )


# A lease counts at each scope that covers it; DISTINCT drops those that are the same for a short scope.
_COUNTED = """
SELECT live.pool_id, rung.d, rung.p, rung.w, rung.l, sum(live.used) AS used, sum(live.waiting) AS waiting
  FROM (SELECT pool_id, domain, project, workflow, launch_plan,
               coalesce(sum(units) FILTER (WHERE state = 'granted'), 0) AS used,
               count(*) FILTER (WHERE state = 'waiting') AS waiting
          FROM pools_poollease
         WHERE state IN ('waiting', 'granted') AND (%(pool)s::uuid IS NULL OR pool_id = %(pool)s::uuid)
         GROUP BY 1, 2, 3, 4, 5) live
 CROSS JOIN LATERAL (
    SELECT DISTINCT d, p, w, l FROM (VALUES
        ('', '', '', ''), (domain, '', '', ''), ('', project, '', ''), (domain, project, '', ''),
        (domain, project, workflow, ''), (domain, project, workflow, launch_plan)) rungs(d, p, w, l)) rung
 GROUP BY 1, 2, 3, 4, 5
"""
_DRIFT = f"""
WITH counted AS ({_COUNTED})
SELECT coalesce(counted.pool_id, usage.pool_id),
       sum(abs(coalesce(counted.used, 0) - coalesce(usage.used, 0))
           + abs(coalesce(counted.waiting, 0) - coalesce(usage.waiting, 0)))::bigint
  FROM counted FULL JOIN pools_poolusage usage
    ON usage.pool_id = counted.pool_id AND usage.domain = counted.d AND usage.project = counted.p
   AND usage.workflow = counted.w AND usage.launch_plan = counted.l
 WHERE (coalesce(counted.used, 0) <> coalesce(usage.used, 0)
        OR coalesce(counted.waiting, 0) <> coalesce(usage.waiting, 0))
   AND coalesce(counted.pool_id, usage.pool_id) <> ALL(%(quotas)s::uuid[])
 GROUP BY 1
"""  # noqa: S608  (constants of this module)
_COUNT = f"""
INSERT INTO pools_poolusage (pool_id, domain, project, workflow, launch_plan, used, waiting)
{_COUNTED}
    ON CONFLICT (pool_id, project, domain, workflow, launch_plan)
    DO UPDATE SET used = excluded.used, waiting = excluded.waiting
"""
_MANY_UNUSED = """
SELECT pool_id FROM pools_poolusage WHERE used = 0 AND waiting = 0 GROUP BY pool_id HAVING count(*) > %s
"""
