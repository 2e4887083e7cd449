"""Quotas of sinks: their number, and the deliveries per second that webhooks may make."""

from __future__ import annotations

from controlplane.delivery.models import Sink
from controlplane.delivery.sink_terms import WEBHOOK
from controlplane.pools.quota_rules import Added, Countable, Owner, declare
from controlplane.pools.quotas import check

_ROWS = """
SELECT team.slug AS owner, '' AS domain, '' AS project, '' AS workflow, '' AS launch_plan,
       {units} AS units
  FROM delivery_sink AS sink LEFT JOIN access_team AS team ON team.id = sink.team_id WHERE {condition}
"""
SINKS = declare(
    Countable(
        "sinks",
        "sinks",
        _ROWS.format(units="1", condition="true"),
        "Delete a sink or a channel of notifications that nobody needs.",
        "sink",
        Owner.TEAM,
    )
)
WEBHOOK_RATE = declare(
    Countable(
        "webhook-rate",
        "deliveries per second of webhooks",
        _ROWS.format(units="sink.per_second", condition=f"sink.kind = '{WEBHOOK}'"),
        "Choose a lower `per_second`, here or for another webhook.",
        "delivery per second",
        Owner.TEAM,
    )
)


def _owner_of(sink: Sink) -> str:
    return sink.team.slug if sink.team else ""


def check_new(sink: Sink) -> None:
    """Raise QuotaExceeded for one sink too many, or for too fast a webhook. Call after the insertion."""
    check(SINKS, [Added(_owner_of(sink))])
    check_faster(sink, before=0)


def check_faster(sink: Sink, *, before: int) -> None:
    """Raise QuotaExceeded if a webhook may now send more than its quota. before: deliveries per second."""
    if sink.kind == WEBHOOK and sink.per_second > before:
        check(WEBHOOK_RATE, [Added(_owner_of(sink), units=sink.per_second - before)])
