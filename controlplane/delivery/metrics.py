"""Prometheus metrics of deliveries. None has a label for a single sink."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection
from prometheus_client import Counter, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.delivery.kinds import channel_kind_names

DELIVERIES = Counter("cp_deliveries_total", "Attempts to deliver an event.", ["sink_kind", "result"])
DELIVERY_SECONDS = Histogram(
    "cp_delivery_duration_seconds",
    "How long receivers took.",
    ["sink_kind"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 20),
)

FIRST_ATTEMPT_SECONDS = Histogram(
    "cp_delivery_first_attempt_seconds",
    "From an event until it is first sent to a sink that works.",
    # The second: the objective.
    buckets=(1, 5, 60),
)


class DeliveryCollector(Collector):
    """Figures of sinks and their queues, read at each scrape."""

    def collect(self) -> Iterator[Metric]:
        with connection.cursor() as cursor:
            cursor.execute(_SINKS)
            yield _family("cp_sinks", "Sinks by state.", ["state"], cursor.fetchall())
            cursor.execute(_QUEUES)
            queues = cursor.fetchall()
            cursor.execute(_LAG, [channel_kind_names()])
            (lag,) = cursor.fetchone()
        yield _family(
            "cp_deliveries_waiting",
            "Events that wait for an active sink.",
            ["sink_kind"],
            [(kind, waiting) for kind, waiting, _ in queues],
        )
        yield _family(
            "cp_deliveries_oldest_seconds",
            "Age of the oldest event that waits for an active sink.",
            ["sink_kind"],
            [(kind, age) for kind, _, age in queues],
        )
        yield GaugeMetricFamily(
            "cp_event_dispatch_lag_seconds",
            "Age of the oldest event that no active sink's cursor has passed yet.",
            value=lag,
        )


def _family(name: str, meaning: str, labels: list[str], rows: list[tuple[str, float]]) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=labels)
    for label, value in rows:
        family.add_metric([label], value)
    return family


_SINKS = "SELECT state, count(*) FROM delivery_sink GROUP BY state"
# The partial index of waiting deliveries is read for each sink; a sink with 100,000 is paused.
_QUEUES = """
SELECT sink.kind, sum(waiting.number), coalesce(max(waiting.age), 0)
FROM delivery_sink sink CROSS JOIN LATERAL (
    SELECT count(*) AS number, extract(epoch FROM statement_timestamp() - min(created_at))::float AS age
    FROM delivery_delivery delivery WHERE delivery.sink_id = sink.id AND delivery.state = 'waiting'
) waiting
WHERE sink.state = 'active' GROUP BY sink.kind
"""
# Channels follow no events: their cursors stay where they were.
_LAG = """
SELECT coalesce(extract(epoch FROM statement_timestamp() - min(event.at))::float, 0)
FROM (SELECT min(cursor_seq) AS seq FROM delivery_sink
       WHERE state = 'active' AND kind <> ALL (%s) HAVING count(*) > 0) slowest
CROSS JOIN LATERAL (
    (SELECT at FROM events_event WHERE seq > slowest.seq ORDER BY seq LIMIT 1)
    UNION ALL
    -- Nobody has numbered it yet: if all dispatchers are down, that is where events wait.
    (SELECT at FROM events_event WHERE seq IS NULL ORDER BY position LIMIT 1)
) event
"""
