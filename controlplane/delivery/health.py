"""How sinks do: their last deliveries, and what waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Count, Min

from controlplane.delivery.models import Delivery, DeliveryState


@dataclass(frozen=True, slots=True)
class RecentDelivery:
    """One of the last deliveries. attempt: how many were made."""

    type: str
    state: str
    attempt: int
    last_status: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Backlog:
    """Deliveries that wait, and since when the oldest of them does."""

    waiting: int
    oldest_at: datetime


def recent_deliveries(sink_ids: Sequence[UUID], *, each: int) -> dict[UUID, list[RecentDelivery]]:
    """Return the last deliveries of each sink, oldest first. Reads `each` index entries of a sink."""
    deliveries: dict[UUID, list[RecentDelivery]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_RECENT, [list(sink_ids), each])
        for sink_id, *values in reversed(cursor.fetchall()):
            deliveries[sink_id].append(RecentDelivery(*values))
    return deliveries


def backlogs(sink_ids: Sequence[UUID]) -> dict[UUID, Backlog]:
    """Return what waits for these sinks; a sink for which nothing waits is missing."""
    rows = Delivery.objects.filter(sink__in=list(sink_ids), state=DeliveryState.WAITING)
    counted = rows.values("sink").order_by().annotate(waiting=Count("id"), oldest_at=Min("created_at"))
    return {row["sink"]: Backlog(row["waiting"], row["oldest_at"]) for row in counted}


_RECENT = """
SELECT sink.id, recent.*
FROM unnest(%s::uuid[]) AS sink (id), LATERAL (
    SELECT type, state, attempt, last_status, created_at FROM delivery_delivery
    WHERE sink_id = sink.id ORDER BY id DESC LIMIT %s
) AS recent
"""
