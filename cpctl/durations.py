"""Durations as people type them after --timeout: `90`, `90s`, `2m` or `1h`. Pure."""

from __future__ import annotations

import re

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smh]?)")


def read_seconds(text: str | float) -> float:
    """Return the seconds of a duration; a number without a unit is seconds. Raises ValueError."""
    match = _DURATION.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{text!r} is not a duration. Use seconds, or a unit: 90, 90s, 2m, 1h.")
    return float(match[1]) * _UNITS[match[2]]
