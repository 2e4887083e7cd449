"""The skew of an agent's clock: shown, never used for decisions. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

CONDITION = "ClockSynced"
# The measured skew includes the network delay.
_SYNCED_WITHIN = timedelta(seconds=5)


def skew_ms(reported_at: datetime | None, received_at: datetime) -> int | None:
    """Return the agent's time minus ours, in milliseconds; None before its first heartbeat."""
    return None if reported_at is None else round((reported_at - received_at) / timedelta(milliseconds=1))


def clock_condition(skew: int | None) -> dict[str, Any]:
    """Return the condition that the control plane adds to those that the agent reports."""
    if skew is None:
        return {"type": CONDITION, "status": "unknown", "message": "No heartbeat has been received yet."}
    offset = timedelta(milliseconds=abs(skew))
    if offset <= _SYNCED_WITHIN:
        return {"type": CONDITION, "status": "true"}
    direction = "ahead of" if skew > 0 else "behind"
    message = f"The agent's clock is {offset.total_seconds():.0f} s {direction} ours. Leases use our clock."
    return {"type": CONDITION, "status": "false", "message": message}


def with_clock(conditions: list[dict[str, Any]], skew: int | None) -> list[dict[str, Any]]:
    """Replace the agent's own condition of its clock by ours: only we can compare."""
    return [condition for condition in conditions if condition.get("type") != CONDITION] + [
        clock_condition(skew)
    ]
