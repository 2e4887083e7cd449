"""Prometheus metrics of pools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db import connection
from prometheus_client import Counter, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.pools.batch import Outcome
from controlplane.pools.operations import Acquire, Granted, Operation, Queued, Refused

GRANTS = Counter("cp_pool_grants_total", "Requests for units of pools, by result.", ["result"])
WAIT_SECONDS = Histogram(
    "cp_pool_wait_seconds",
    "How long requests waited for their units.",
    buckets=(0.1, 1, 10, 60, 300, 1800, 7200),
)
# Pools that have their own series; the others are added up.
MOST_POOLS = 200
_OTHER = "other"
_Figures = tuple[str, int, int, int, float, float]


def count(outcome: Outcome, operations: Sequence[Operation]) -> None:
    """Count the results of a batch."""
    for operation, result in zip(operations, outcome.results, strict=True):
        if isinstance(operation, Acquire):
            GRANTS.labels(_name(result)).inc()
    for lease in outcome.promoted:
        if lease.granted_at:
            WAIT_SECONDS.observe((lease.granted_at - lease.requested_at).total_seconds())
    if outcome.promoted:
        GRANTS.labels("granted_after_waiting").inc(len(outcome.promoted))


def _name(result: object) -> str:
    if isinstance(result, Granted):
        return "granted" if result.is_new else "held"
    if isinstance(result, Queued):
        return "queued"
    return "refused" if isinstance(result, Refused) else "token_in_use"


class PoolCollector(Collector):
    """Figures of pools, read at each scrape from one small row of each."""

    def collect(self) -> Iterator[Metric]:
        names = ("capacity", "used", "waiting", "oldest_wait_seconds", "starved_seconds")
        meanings = (
            "Units of a pool.",
            "Units of a pool in use.",
            "Requests that wait for units of a pool.",
            "For how long the oldest request has waited.",
            "For how long requests have waited of which none was granted.",
        )
        families = [
            GaugeMetricFamily(f"cp_pool_{name}", meaning, labels=["pool"])
            for name, meaning in zip(names, meanings, strict=True)
        ]
        with connection.cursor() as cursor:
            cursor.execute(_FIGURES)
            rows = cursor.fetchall()
            cursor.execute(_DRIFT)
            ((drift,),) = cursor.fetchall() or [(0,)]
        for pool, *figures in [*rows[:MOST_POOLS], *_added_up(rows[MOST_POOLS:])]:
            for family, figure in zip(families, figures, strict=True):
                family.add_metric([pool], figure)
        yield from families
        yield GaugeMetricFamily(
            "cp_pool_drift",
            "Units by which counts differed from leases within the last hour, before they were mended.",
            value=drift,
        )


def _added_up(rows: Sequence[_Figures]) -> list[_Figures]:
    if not rows:
        return []
    _, capacity, used, waiting, oldest, starved = zip(*rows, strict=True)
    return [(_OTHER, sum(capacity), sum(used), sum(waiting), max(oldest), max(starved))]


_FIGURES = """
SELECT pool.name, pool.capacity, coalesce(usage.used, 0), coalesce(usage.waiting, 0),
       CASE WHEN usage.waiting > 0 THEN coalesce(
           (SELECT extract(epoch FROM statement_timestamp() - min(lease.requested_at))::float
              FROM pools_poollease lease WHERE lease.pool_id = pool.id AND lease.state = 'waiting'), 0)
       ELSE 0 END,
       coalesce(extract(epoch FROM statement_timestamp() - pool.starved_since)::float, 0)
  FROM pools_pool pool
  LEFT JOIN pools_poolusage usage ON usage.pool_id = pool.id AND usage.project = '' AND usage.domain = ''
   AND usage.workflow = '' AND usage.launch_plan = ''
 ORDER BY coalesce(usage.waiting, 0) DESC, pool.name
"""
_DRIFT = """
SELECT CASE WHEN drifted_at > statement_timestamp() - interval '1 hour' THEN drift ELSE 0 END
  FROM pools_poolsweep WHERE id = 1
"""
