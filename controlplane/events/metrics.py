"""Prometheus metrics of the event log."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector


class EventCollector(Collector):
    """Figures of one small row, and of the index of events without a number, read at each scrape."""

    def collect(self) -> Iterator[Metric]:
        with connection.cursor() as cursor:
            cursor.execute(_FIGURES)
            numbered, lag = cursor.fetchone()
        yield CounterMetricFamily(
            "cp_events_numbered", "Events that followers can read: the last number.", value=numbered
        )
        yield GaugeMetricFamily(
            "cp_event_feed_lag_seconds",
            "Age of the oldest event without a number: nobody has followed the log since.",
            value=lag,
        )


_FIGURES = """
SELECT last_seq,
       coalesce((SELECT greatest(extract(epoch FROM statement_timestamp() - at), 0)::float
                   FROM events_event WHERE seq IS NULL ORDER BY position LIMIT 1), 0)
  FROM events_numbering WHERE id = 1
"""
