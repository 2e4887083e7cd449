"""How long resources took from their request to their first start, as a metric."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.db import transaction
from prometheus_client import Histogram

from controlplane.observability.label_values import FirstValues

# Service types that have their own series, here and in the figures of the database.
MOST_SERVICE_TYPES = 10
START_SECONDS = Histogram(
    "cp_dispatch_start_seconds",
    "How long resources took from their request until they first ran.",
    ["service_type"],
    # The second: the objective.
    buckets=(0.5, 2, 10, 60, 600),
)
_types = FirstValues(MOST_SERVICE_TYPES)


def count_start(service_type: str, duration: timedelta) -> None:
    """Count a first start once it is committed."""
    transaction.on_commit(partial(_count, service_type, duration.total_seconds()))


def _count(service_type: str, seconds: float) -> None:
    START_SECONDS.labels(_types.label(service_type)).observe(max(seconds, 0.0))
