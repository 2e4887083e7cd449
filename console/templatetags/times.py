"""How long ago, in words: heartbeats come every few seconds, so minutes are too coarse."""

from __future__ import annotations

from datetime import datetime

from django import template

register = template.Library()
# The longest time told in a unit, in seconds, and the unit's own length.
_UNITS = [(120, 1, "s"), (120 * 60, 60, "min"), (48 * 3600, 3600, "h")]
_DAY = 24 * 3600


@register.filter
def ago(moment: datetime, now: datetime) -> str:
    # Two clocks may differ a little: nothing has happened in the future.
    seconds = max(0, int((now - moment).total_seconds()))
    for limit, length, unit in _UNITS:
        if seconds < limit:
            return f"{seconds // length} {unit} ago"
    return f"{seconds // _DAY} days ago"
