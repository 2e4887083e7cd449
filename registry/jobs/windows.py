"""Windows: the period of data that a run of a job processes, from DSTART to DEND. Pure.

Version 2 truncates the scheduled time, adds the offset for the end, and subtracts the size for the start.
Version 1 is Optimus' first rule, with its arithmetic: a month is 30 days, except when truncating to months.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from controlplane.formats import go_durations

VERSIONS = (1, 2)
TRUNCATIONS = ("", "h", "d", "w", "M")
_DAY = timedelta(days=1)
_MONTH_OF_VERSION_1 = timedelta(days=30)
_LEADING_MONTHS = re.compile(r"([+-]?)([0-9]{1,4})M(.*)", re.ASCII | re.DOTALL)
_ANY_MONTHS = re.compile(r"([+-]?)([0-9]{1,4})M", re.ASCII)
_LONGEST_MONTHS = 1200
_HINT = "Write a Go duration with optional leading months, such as 24h, 1M or -1M2h."


class InvalidWindow(ValueError):
    """A window that cannot be computed. field: size, offset, truncate_to or version."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True, slots=True)
class Window:
    """A window as written in a job. Empty values mean the defaults of its version."""

    version: int
    truncate_to: str = ""
    offset: str = ""
    size: str = ""


@dataclass(frozen=True, slots=True)
class Interval:
    """A period of time in UTC. The start is included, the end is not."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Span:
    """Calendar months and a duration, which are added separately."""

    months: int = 0
    duration: timedelta = timedelta()


def compute_interval(window: Window, scheduled_at: datetime) -> Interval:
    """Return the period for a run scheduled at that time. Raises InvalidWindow."""
    check_window(window)
    moment = scheduled_at.astimezone(UTC)
    try:
        return _interval_1(window, moment) if window.version == 1 else _interval_2(window, moment)
    except (OverflowError, ValueError) as error:
        raise InvalidWindow("size", "The window is outside of the years 1 to 9999.") from error


def check_window(window: Window) -> None:
    """Raise InvalidWindow for the first field that is invalid."""
    if window.version not in VERSIONS:
        raise InvalidWindow("version", f"Window version {window.version} is not supported. Use 1 or 2.")
    if window.truncate_to not in TRUNCATIONS:
        message = f"{window.truncate_to[:40]!r} is not a unit to truncate to. Use h, d, w, M or none."
        raise InvalidWindow("truncate_to", message)
    if window.version == 1:
        _duration_1("offset", window.offset)
        _duration_1("size", window.size)
    else:
        _span("offset", window.offset)
        _size_2(window.size)


def truncate(moment: datetime, unit: str) -> datetime:
    """Return the beginning of the hour, day, week (Monday) or month in UTC."""
    match unit:
        case "h":
            return moment.replace(minute=0, second=0, microsecond=0)
        case "d":
            return _midnight(moment.date())
        case "w":
            return _midnight(moment.date()) - moment.weekday() * _DAY
        case "M":
            return _midnight(moment.date().replace(day=1))
    return moment


def add_months(moment: datetime, months: int) -> datetime:
    """Add calendar months as Go does: a day beyond the end of the month continues in the next month."""
    index = moment.year * 12 + moment.month - 1 + months
    first = moment.replace(year=index // 12, month=index % 12 + 1, day=1)
    return first + (moment.day - 1) * _DAY


def _interval_2(window: Window, scheduled_at: datetime) -> Interval:
    offset, size = _span("offset", window.offset), _size_2(window.size)
    end = add_months(truncate(scheduled_at, window.truncate_to) + offset.duration, offset.months)
    return Interval(add_months(end - size.duration, -size.months), end)


def _interval_1(window: Window, scheduled_at: datetime) -> Interval:
    offset = _duration_1("offset", window.offset)
    size = _duration_1("size", window.size) if window.size else _DAY
    if window.truncate_to == "M":
        return _months_1(scheduled_at, offset, size)
    end = _truncate_1(scheduled_at, window.truncate_to) + offset
    return Interval(end - size, end)


def _truncate_1(moment: datetime, unit: str) -> datetime:
    """Return the end before the offset. A week ends with its Saturday: the next Sunday at midnight."""
    if unit == "w":
        return _midnight(moment.date()) + (7 - moment.isoweekday() % 7) * _DAY
    return truncate(moment, unit)


def _months_1(scheduled_at: datetime, offset: timedelta, size: timedelta) -> Interval:
    """Return whole months: from the first day of one to midnight of the last day of another."""
    month = add_months(truncate(scheduled_at, "M"), _whole_months(offset))
    # The last month is part of the size.
    start = add_months(month, -max(_whole_months(size) - 1, 0))
    return Interval(start, add_months(month, 1) - _DAY)


def _whole_months(duration: timedelta) -> int:
    """Return the months of 30 days, rounded towards zero."""
    months = abs(duration) // _MONTH_OF_VERSION_1
    return months if duration >= timedelta() else -months


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _size_2(text: str) -> Span:
    span = _span("size", text)
    if span.months < 0 or span.duration < timedelta():
        raise InvalidWindow("size", f"The size {text[:40]!r} is negative. Move the window with its offset.")
    return span


def _span(field: str, text: str) -> Span:
    """Return months and duration of version 2. A minus applies to both."""
    if (match := _LEADING_MONTHS.fullmatch(text)) is None:
        return Span(0, _duration(field, text, text))
    sign, count, rest = match.groups()
    months, duration = _month_count(field, count, text), _duration(field, rest, text)
    return Span(-months, -duration) if sign == "-" else Span(months, duration)


def _duration_1(field: str, text: str) -> timedelta:
    """Return the duration of version 1, in which a month has 30 days and a sign of its own."""
    matches = list(_ANY_MONTHS.finditer(text))
    if not matches:
        return _duration(field, text, text)
    if len(matches) > 1:
        raise InvalidWindow(field, f"The {field} {text[:40]!r} names months twice. {_HINT}")
    sign, count = matches[0].groups()
    months = _month_count(field, count, text) * _MONTH_OF_VERSION_1
    rest = text[: matches[0].start()] + text[matches[0].end() :]
    return (-months if sign == "-" else months) + _duration(field, rest.strip(), text)


def _month_count(field: str, count: str, text: str) -> int:
    if int(count) > _LONGEST_MONTHS:
        raise InvalidWindow(field, f"The {field} {text[:40]!r} exceeds {_LONGEST_MONTHS} months.")
    return int(count)


def _duration(field: str, rest: str, text: str) -> timedelta:
    """Return the duration without months; empty means none."""
    try:
        return timedelta(microseconds=go_durations.parse(rest) / go_durations.MICROSECOND if rest else 0)
    except ValueError as error:
        raise InvalidWindow(field, f"The {field} {text[:40]!r} is not a duration. {_HINT}") from error
