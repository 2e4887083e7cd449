"""Times in Go's layouts: `2006-01-02 15:04:05`. Pure. The local zone is always UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000_000
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Go's elements, the longest first. Those of `_REFUSED` are recognized so that they are not read as others.
_REFUSED = ("-07:00:00", "-070000", "Z07:00:00", "Z070000", "__2", "002")
_ELEMENT = re.compile(
    "|".join(
        (
            *map(re.escape, _REFUSED),
            "January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST",
            "01|02|03|04|05|06|15|1|_2(?!006)|2006|2|3|4|5|PM|pm",
            "-0700|-07:00|-07|Z0700|Z07:00|Z07",
            r"[.,](?:0+|9+)(?![0-9])",
        )
    )
)


class UnsupportedLayout(ValueError):
    """A layout with an element that cannot be read or written."""


class LayoutMismatch(ValueError):
    """Text that is not in its layout. The message contains no text."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, with the offset from UTC in which it is written. Both are exact."""

    nanoseconds: int
    offset: int = 0

    @property
    def seconds(self) -> int:
        return self.nanoseconds // _SECOND

    @property
    def wall_clock(self) -> datetime:
        """The local date and time to the second. Raises OverflowError beyond the years 1 to 9999."""
        return _EPOCH + timedelta(seconds=self.seconds + self.offset)

    def add(self, nanoseconds: int) -> Moment:
        return Moment(self.nanoseconds + nanoseconds, self.offset)

    def __str__(self) -> str:
        return write("2006-01-02 15:04:05.999999999 -0700 MST", self)


def write(layout: str, moment: Moment) -> str:
    """Return the time in the layout. Raises UnsupportedLayout and OverflowError."""
    clock = moment.wall_clock
    return _ELEMENT.sub(lambda element: _write_element(element[0], clock, moment), layout)


def parse(layout: str, text: str) -> Moment:
    """Return the time of the text. Raises UnsupportedLayout and LayoutMismatch."""
    names: list[str] = []
    pattern = _pattern(layout, names)
    match = re.fullmatch(pattern, text)
    if match is None:
        raise LayoutMismatch("The text is not in the layout.")
    parts: dict[str, str] = {}
    for name, value in zip(names, match.groups(), strict=True):
        if parts.setdefault(name, value) != value:
            raise LayoutMismatch("The text names a part of the time twice, differently.")
    return _assemble(parts)


_WRITERS: dict[str, Callable[[datetime], str]] = {
    "2006": lambda clock: f"{clock.year:04}",
    "06": lambda clock: f"{clock.year % 100:02}",
    "January": lambda clock: _MONTHS[clock.month - 1],
    "Jan": lambda clock: _MONTHS[clock.month - 1][:3],
    "01": lambda clock: f"{clock.month:02}",
    "1": lambda clock: str(clock.month),
    "Monday": lambda clock: _DAYS[clock.weekday()],
    "Mon": lambda clock: _DAYS[clock.weekday()][:3],
    "02": lambda clock: f"{clock.day:02}",
    "_2": lambda clock: f"{clock.day:2}",
    "2": lambda clock: str(clock.day),
    "15": lambda clock: f"{clock.hour:02}",
    "03": lambda clock: f"{(clock.hour + 11) % 12 + 1:02}",
    "3": lambda clock: str((clock.hour + 11) % 12 + 1),
    "04": lambda clock: f"{clock.minute:02}",
    "4": lambda clock: str(clock.minute),
    "05": lambda clock: f"{clock.second:02}",
    "5": lambda clock: str(clock.second),
    "PM": lambda clock: "PM" if clock.hour >= 12 else "AM",
    "pm": lambda clock: "pm" if clock.hour >= 12 else "am",
}


def _write_element(element: str, clock: datetime, moment: Moment) -> str:
    if element in _REFUSED:
        raise UnsupportedLayout(f"The element {element} of a layout is not supported.")
    if (writer := _WRITERS.get(element)) is not None:
        return writer(clock)
    if element[0] in ".,":
        return _write_fraction(element, moment.nanoseconds % _SECOND)
    return _write_zone(element, moment.offset)


def _write_fraction(element: str, nanoseconds: int) -> str:
    digits = f"{nanoseconds:09}"[: len(element) - 1].ljust(len(element) - 1, "0")
    if element[1] == "9":
        digits = digits.rstrip("0")
    return element[0] + digits if digits else ""


def _write_zone(element: str, offset: int) -> str:
    if element == "MST":
        return "UTC" if offset == 0 else _write_zone("-0700", offset)
    if element[0] == "Z" and offset == 0:
        return "Z"
    sign, minutes = ("-", -offset // 60) if offset < 0 else ("+", offset // 60)
    hours, minutes = divmod(minutes, 60)
    if element.endswith("07"):
        return f"{sign}{hours:02}"
    return f"{sign}{hours:02}{':' if ':' in element else ''}{minutes:02}"


_WORDS = {
    "January": "|".join(_MONTHS),
    "Jan": "|".join(month[:3] for month in _MONTHS),
    "Monday": "|".join(_DAYS),
    "Mon": "|".join(day[:3] for day in _DAYS),
    "PM": "AM|PM",
    "pm": "am|pm",
}
_PATTERNS = {
    "2006": "[0-9]{4}",
    **dict.fromkeys(("06", "01", "02", "03", "04", "05"), "[0-9]{2}"),
    # Possessive, as Go reads them: two digits, if there are two.
    **dict.fromkeys(("1", "2", "15", "3", "4", "5"), "[0-9]{1,2}+"),
    "_2": " ?[0-9]{1,2}+",
    **_WORDS,
    "-0700": "[+-][0-9]{4}",
    "-07:00": "[+-][0-9]{2}:[0-9]{2}",
    "-07": "[+-][0-9]{2}",
    "Z0700": "Z|[+-][0-9]{4}",
    "Z07:00": "Z|[+-][0-9]{2}:[0-9]{2}",
    "Z07": "Z|[+-][0-9]{2}",
}
_PARTS = {
    **{"2006": "year", "06": "short_year", "January": "month_name", "Jan": "month_name", "01": "month"},
    **{
        "1": "month",
        "Monday": "weekday",
        "Mon": "weekday",
        "02": "day",
        "2": "day",
        "_2": "day",
        "15": "hour",
    },
    **{"03": "hour12", "3": "hour12", "04": "minute", "4": "minute", "05": "second", "5": "second"},
    **{"PM": "half", "pm": "half"},
}


def _pattern(layout: str, names: list[str]) -> str:
    """Return the regular expression of the layout, and the part of the time of each group in `names`."""
    pieces, at = [], 0
    for element in _ELEMENT.finditer(layout):
        name = element[0]
        pieces.append(re.escape(layout[at : element.start()]))
        at = element.end()
        if name not in _PATTERNS:
            raise UnsupportedLayout(f"The element {name} of a layout is not supported for reading.")
        pieces.append(f"({_PATTERNS[name]})")
        names.append(_PARTS.get(name, "zone"))
    return "".join((*pieces, re.escape(layout[at:])))


def _assemble(parts: dict[str, str]) -> Moment:
    offset = _offset(parts.get("zone", "Z"))
    year, month, hour = _year(parts), _month(parts), _hour(parts)
    day, minute, second = int(parts.get("day", 1)), int(parts.get("minute", 0)), int(parts.get("second", 0))
    try:
        clock = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise LayoutMismatch("The text is not a date and time of the calendar.") from error
    return Moment((int((clock - _EPOCH).total_seconds()) - offset) * _SECOND, offset)


def _year(parts: dict[str, str]) -> int:
    if "year" in parts and "short_year" in parts:
        raise LayoutMismatch("The layout has two years.")
    if "year" in parts:
        return int(parts["year"])
    if "short_year" not in parts:
        raise LayoutMismatch("The layout has no year.")
    year = int(parts["short_year"])
    return year + (1900 if year >= 69 else 2000)


def _month(parts: dict[str, str]) -> int:
    if "month_name" not in parts:
        return int(parts.get("month", 1))
    if "month" in parts:
        raise LayoutMismatch("The layout has two months.")
    name = parts["month_name"][:3]
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name))


def _hour(parts: dict[str, str]) -> int:
    if "hour" in parts and ("hour12" in parts or "half" in parts):
        raise LayoutMismatch("The layout has hours of 24 and of 12.")
    hour = int(parts.get("hour", parts.get("hour12", 0)))
    if hour > 12 and "hour12" in parts:
        raise LayoutMismatch("The text is not a date and time of the calendar.")
    if "half" not in parts:
        return hour
    return hour % 12 + (12 if parts["half"].lower() == "pm" else 0)


def _offset(zone: str) -> int:
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 24 or minutes >= 60:
        raise LayoutMismatch("The text has an invalid offset from UTC.")
    seconds = hours * 3600 + minutes * 60
    return -seconds if zone[0] == "-" else seconds
