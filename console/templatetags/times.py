"""Relative times with seconds: heartbeats arrive every few seconds, so minutes are too coarse."""

from __future__ import annotations

from datetime import datetime

from django import template

register = template.Library()
# Upper limit of each unit in seconds, and the length of the unit.
_UNITS = [(120, 1, "s"), (120 * 60, 60, "min"), (48 * 3600, 3600, "h")]
_DAY = 24 * 3600


@register.filter
def ago(time: datetime, now: datetime) -> str:
    # Clocks can differ slightly; never show a time in the future.
    return f"{_rounded(max(0, int((now - time).total_seconds())))} ago"


@register.filter
def duration(seconds: int) -> str:
    """Return a set time in its greatest unit, such as `24 h`; in seconds if no other is exact."""
    for length, unit in ((_DAY, "days"), (3600, "h"), (60, "min")):
        if seconds >= length and seconds % length == 0 and (unit != "days" or seconds > _DAY):
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _rounded(seconds: int) -> str:
    for limit, length, unit in _UNITS:
        if seconds < limit:
            return f"{seconds // length} {unit}"
    return f"{seconds // _DAY} days"
