"""Prometheus metrics of messages and streams."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection
from prometheus_client import Counter, Gauge, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.messaging.models import StreamRecord

# Of relays, which expose them themselves where they share no folder of metrics with the web server.
OUTBOX_SENT = Counter("cp_outbox_sent_total", "Messages that NATS has stored.")
OUTBOX_SENT_SECONDS = Histogram(
    "cp_outbox_sent_seconds",
    "From a change until NATS has stored its message for an agent.",
    # The second: the objective.
    buckets=(0.5, 2, 60),
)
STREAM_REPLICAS_MISSING = Gauge(
    "cp_stream_replicas_missing",
    "Copies of a stream of NATS that are off, or have not everything.",
    ["stream"],
    multiprocess_mode="livemax",
)
OUTBOX_FAILED = Counter("cp_outbox_failed_total", "Attempts that failed.", ["reason"])


class OutboxCollector(Collector):
    """The outbox and the streams, read from the database at each scrape."""

    def collect(self) -> Iterator[Metric]:
        with connection.cursor() as cursor:
            cursor.execute(_UNSENT)
            unsent, refused, age = cursor.fetchone()
        yield GaugeMetricFamily("cp_outbox_unsent", "Messages that are not sent yet.", value=unsent)
        yield GaugeMetricFamily(
            "cp_outbox_refused", "Unsent messages that NATS has refused before.", value=refused
        )
        yield GaugeMetricFamily(
            "cp_outbox_oldest_seconds", "Age of the oldest message that is not sent yet.", value=age
        )
        streams = GaugeMetricFamily(
            "cp_stream_differs", "1 if a stream of NATS differs from what is needed.", labels=["stream"]
        )
        for record in StreamRecord.objects.order_by("name"):
            streams.add_metric([record.name], int(bool(record.difference)))
        yield streams


_UNSENT = """
SELECT count(*), count(*) FILTER (WHERE attempts > 0),
       greatest(coalesce(extract(epoch FROM statement_timestamp() - min(created_at)), 0), 0)::float
FROM messaging_outboxmessage
WHERE sent_at IS NULL AND settled_at IS NULL AND channel = 'nats'
"""
