"""What an agent's clock says beside ours: shown, and never acted on. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

CONDITION = "ClockSynced"
# The way to us is part of it.
_SYNCED_WITHIN = timedelta(seconds=5)


def skew_ms(reported_at: datetime | None, received_at: datetime) -> int | None:
    """The agent's clock less ours; None while it has not beaten."""
    return None if reported_at is None else round((reported_at - received_at) / timedelta(milliseconds=1))


def clock_condition(skew: int | None) -> dict[str, Any]:
    """The condition that we tell of an agent, beside those that it tells itself."""
    if skew is None:
        return {"type": CONDITION, "status": "unknown", "message": "It has not beaten yet."}
    off = timedelta(milliseconds=abs(skew))
    if off <= _SYNCED_WITHIN:
        return {"type": CONDITION, "status": "true"}
    word = "ahead of" if skew > 0 else "behind"
    message = f"Its clock is {off.total_seconds():.0f} s {word} ours. Its lease goes by ours."
    return {"type": CONDITION, "status": "false", "message": message}


def with_clock(said: list[dict[str, Any]], skew: int | None) -> list[dict[str, Any]]:
    """What it says of its clock itself gives way: we can compare."""
    return [one for one in said if one.get("type") != CONDITION] + [clock_condition(skew)]
