"""Quiet hours as text: a line such as `mon-fri 22:00-07:00` is a window. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from controlplane.errors import FieldError, InvalidRequest
from controlplane.notifications.quiet_hours import DAYS

_LINE = re.compile(r"(?:(?P<days>[a-z][a-z, -]*?)\s+)?(?P<begin>\d{1,2}:\d\d)\s*-\s*(?P<end>\d{1,2}:\d\d)")


def windows_text(document: Mapping[str, Any]) -> str:
    """Return the windows of a rule's quiet hours, a line each."""
    return "\n".join(_line(window) for window in document.get("windows", ()))


def windows_of(text: str) -> list[dict[str, Any]]:
    """Return the windows that the lines mean. Raises InvalidRequest with the number of the line."""
    lines = [(number, line.strip().lower()) for number, line in enumerate(text.splitlines(), 1)]
    return [_window(number, line) for number, line in lines if line]


def _line(window: Mapping[str, Any]) -> str:
    days = ", ".join(window.get("days") or ())
    return f"{days} {window.get('from', '')}-{window.get('to', '')}".strip()


def _window(number: int, line: str) -> dict[str, Any]:
    match = _LINE.fullmatch(line)
    days = _days(match["days"] or "") if match else None
    if match is None or days is None:
        message = f"Line {number} is not a window. Use days and times, such as mon-fri 22:00-07:00."
        raise InvalidRequest(message, errors=[FieldError("/quiet_hours/windows", "malformed", message)])
    times = {"from": match["begin"].zfill(5), "to": match["end"].zfill(5)}
    return {"days": days, **times} if days else times


def _days(text: str) -> list[str] | None:
    """Return the days of `mon, wed` or `mon-fri`; None for a word that is no day."""
    days: list[str] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        first, sign, last = (part.strip() for part in word.partition("-"))
        if first not in DAYS or (sign and last not in DAYS):
            return None
        begin, end = DAYS.index(first), DAYS.index(last or first)
        # From Friday to Monday is a range too.
        span = range(begin, end + 1 if end >= begin else end + 1 + len(DAYS))
        days += [DAYS[index % len(DAYS)] for index in span]
    return list(dict.fromkeys(days))
