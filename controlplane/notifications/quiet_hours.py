"""Quiet hours: when messages wait, in a time zone of the people who read them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from controlplane.errors import FieldError, InvalidRequest

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_POINTER = "/quiet_hours"
# Windows that follow each other without a gap, such as a weekend of three.
_MOST_JOINED = 15


@dataclass(frozen=True, slots=True)
class QuietWindow:
    """From a time of the days to another; `ends` at or before `begins` is on the next day."""

    days: frozenset[str]
    begins: time
    ends: time


@dataclass(frozen=True, slots=True)
class QuietHours:
    """excepted: severities whose messages never wait."""

    zone: str
    windows: tuple[QuietWindow, ...]
    excepted: frozenset[str] = frozenset()

    def ends_at(self, now: datetime, severity: str) -> datetime | None:
        """Return when the messages of this severity may go, or None if they may go now.

        Local times are looked up in the zone for each day, so that a change of the clock moves the end. A
        local time that a change leaves out is the moment after the change.
        """
        if severity in self.excepted:
            return None
        moment, zone = now, ZoneInfo(self.zone)
        for _ in range(_MOST_JOINED):
            later = max((end for end in self._ends(moment, zone)), default=moment)
            if later <= moment:
                break
            moment = later
        return moment if moment > now else None

    def _ends(self, moment: datetime, zone: ZoneInfo) -> list[datetime]:
        """Return the ends of the windows that contain the moment."""
        today = moment.astimezone(zone).date()
        spans = [
            _span(day, window, zone)
            for window in self.windows
            for day in (today - timedelta(days=1), today)
            if DAYS[day.weekday()] in window.days
        ]
        return [end for begin, end in spans if begin <= moment < end]


def _span(day: date, window: QuietWindow, zone: ZoneInfo) -> tuple[datetime, datetime]:
    last = day if window.ends > window.begins else day + timedelta(days=1)
    return _moment(day, window.begins, zone), _moment(last, window.ends, zone)


def _moment(day: date, clock: time, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, clock, zone).astimezone(UTC)


def quiet_hours_from(document: Mapping[str, Any]) -> QuietHours | None:
    """Return the quiet hours of a rule from their JSON; None for none. Raises InvalidRequest."""
    if not document:
        return None
    windows = tuple(
        QuietWindow(
            frozenset(window.get("days") or DAYS),
            _clock(window.get("from"), f"{_POINTER}/windows/{index}/from"),
            _clock(window.get("to"), f"{_POINTER}/windows/{index}/to"),
        )
        for index, window in enumerate(document.get("windows", ()))
    )
    zone = document.get("tz", "UTC")
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"There is no time zone {zone!r}. Use a name such as Europe/Prague."
        raise _error(f"{_POINTER}/tz", message) from error
    return QuietHours(zone, windows, frozenset(document.get("except", ())))


def _clock(text: Any, pointer: str) -> time:
    try:
        hours, minutes = str(text).split(":")
        return time(int(hours), int(minutes))
    except ValueError as error:
        raise _error(pointer, f"{text!r} is no time of a day. Write it as 22:00.") from error


def _error(pointer: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, "invalid", message)])
