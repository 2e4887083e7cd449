"""Durations in Go's format, in whole nanoseconds. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

MICROSECOND = 1000
MILLISECOND = 1000 * MICROSECOND
SECOND = 1000 * MILLISECOND
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
# Go accepts both the micro sign and the Greek letter.
_UNITS = {
    "ns": 1,
    "us": MICROSECOND,
    "\u00b5s": MICROSECOND,
    "\u03bcs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_LONGEST = (1 << 63) - 1
_PIECE = re.compile("([0-9]+)?(?:\\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)", re.ASCII)


def parse(text: str) -> int:
    """Return the nanoseconds by the rules of Go's time.ParseDuration. Raises ValueError."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    if unsigned == "0":
        return 0
    total, at = 0, 0
    while at < len(unsigned):
        piece = _PIECE.match(unsigned, at)
        if piece is None or not (piece[1] or piece[2]):
            raise ValueError(f"{text[:40]!r} is not a duration")
        total += _nanoseconds(piece[1] or "0", piece[2] or "", _UNITS[piece[3]])
        at = piece.end()
    if not unsigned or total > _LONGEST:
        raise ValueError(f"{text[:40]!r} is not a duration")
    return -total if text.startswith("-") else total


@lru_cache(maxsize=1024)
def write(nanoseconds: int) -> str:
    """Return the duration as Go writes it: `1m30s` for 90 seconds."""
    if nanoseconds < 0:
        return f"-{write(-nanoseconds)}"
    if nanoseconds < SECOND:
        return _small(nanoseconds)
    hours, rest = divmod(nanoseconds, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds = f"{_decimal(rest, SECOND)}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def _nanoseconds(whole: str, fraction: str, unit: int) -> int:
    # Further digits are below a nanosecond or above 290 years, and long integers are slow to parse.
    if len(whole.lstrip("0")) > 19:
        raise ValueError("the duration exceeds the maximum of Go")
    fraction = fraction[:18]
    return int(whole) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)


def _small(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    for unit, name in ((MILLISECOND, "ms"), (MICROSECOND, "\u00b5s")):
        if nanoseconds >= unit:
            return f"{_decimal(nanoseconds, unit)}{name}"
    return f"{nanoseconds}ns"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    digits = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
