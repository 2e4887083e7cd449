"""The functions of templates: Optimus' nine, and those of Go. Pure.

Three of Optimus' functions hide errors: `date` writes the current time for what is not a time, `toDate`
returns the year 1 for text that is not in its layout, and `date_modify` ignores an invalid duration. Here
they fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from controlplane.formats import go_durations
from registry.jobs.templates import moments
from registry.jobs.templates.errors import EvaluationError
from registry.jobs.templates.formatting import format_values
from registry.jobs.templates.moments import Moment
from registry.jobs.templates.values import Members, Missing, Value, describe, is_true

Function = Callable[[Sequence[Value]], Value]
_RFC3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_LONGEST_TEXT = 1024 * 1024
_Type = TypeVar("_Type", str, int, Moment, tuple[str, ...])


def _take(value: Value, wanted: type[_Type], meaning: str) -> _Type:
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise EvaluationError(f"Expected {meaning}, not {describe(value)}.")
    return value


def _text(value: Value) -> str:
    return _take(value, str, "text")


def _time(value: Value) -> Moment:
    return _take(value, Moment, "a time, such as the result of toDate")


def iso_date(values: Sequence[Value]) -> str:
    """`Date`: the date of an RFC 3339 time, in its own zone."""
    match = _RFC3339.fullmatch(_text(values[0]))
    if match is None:
        raise EvaluationError("Date needs a time in RFC 3339, such as 2023-03-05T00:00:00Z.")
    _parse("2006-01-02T15:04:05Z07:00", f"{match[1]}T{match[2]}{match[3]}")
    return match[1]


def replace(values: Sequence[Value]) -> str:
    old, new, text = map(_text, values)
    count = text.count(old)
    if len(text) + count * (len(new) - len(old)) > _LONGEST_TEXT:
        raise EvaluationError(f"The result of replace is longer than {_LONGEST_TEXT} characters.")
    return text.replace(old, new)


def truncate(values: Sequence[Value]) -> str:
    """`trunc`: the first bytes of the text, without a character that is cut."""
    size, text = _take(values[0], int, "a number"), _text(values[1])
    return text if size < 0 else text.encode()[:size].decode(errors="ignore")


def write_date(values: Sequence[Value]) -> str:
    """`date`: a time, or seconds since 1970, in a layout and in UTC."""
    layout, time = _text(values[0]), values[1]
    if isinstance(time, int) and not isinstance(time, bool):
        time = Moment(time * go_durations.SECOND)
    try:
        return moments.write(layout, Moment(_time(time).nanoseconds))
    except (moments.UnsupportedLayout, OverflowError) as error:
        raise EvaluationError(str(error)) from error


def modify_date(values: Sequence[Value]) -> Moment:
    text, time = _text(values[0]), _time(values[1])
    try:
        moved = time.add(go_durations.parse(text))
        _ = moved.wall_clock
    except ValueError as error:
        raise EvaluationError("date_modify needs a Go duration, such as -24h.") from error
    except OverflowError as error:
        raise EvaluationError("The time is outside of the years 1 to 9999.") from error
    return moved


def read_date(values: Sequence[Value]) -> Moment:
    return _parse(_text(values[0]), _text(values[1]))


def unix_epoch(values: Sequence[Value]) -> str:
    return str(_time(values[0]).seconds)


def make_list(values: Sequence[Value]) -> tuple[str, ...]:
    return tuple(map(_text, values))


def join(values: Sequence[Value]) -> str:
    separator, texts = _text(values[0]), _take(values[1], tuple, "a list")
    if sum(map(len, texts)) + len(separator) * len(texts) > _LONGEST_TEXT:
        raise EvaluationError(f"The result of join is longer than {_LONGEST_TEXT} characters.")
    return separator.join(texts)


def printf(values: Sequence[Value]) -> str:
    return format_values(_text(values[0]), values[1:])


def equals(values: Sequence[Value]) -> bool:
    """`eq`: true if the first value equals any of the others."""
    return any(_are_equal(values[0], value) for value in values[1:])


def differs(values: Sequence[Value]) -> bool:
    return not _are_equal(values[0], values[1])


def negate(values: Sequence[Value]) -> bool:
    return not is_true(values[0])


def _are_equal(one: Value, other: Value) -> bool:
    for value in (one, other):
        if isinstance(value, tuple | Moment | Members):
            raise EvaluationError(f"eq and ne compare text, numbers and booleans, not {describe(value)}.")
    if isinstance(one, Missing) or isinstance(other, Missing):
        return isinstance(one, Missing) and isinstance(other, Missing)
    if type(one) is not type(other):
        raise EvaluationError(f"{describe(one)} cannot be compared with {describe(other)}.")
    return one == other


def _parse(layout: str, text: str) -> Moment:
    try:
        return moments.parse(layout, text)
    except (moments.UnsupportedLayout, moments.LayoutMismatch) as error:
        raise EvaluationError(str(error)) from error


# Name, fewest and most arguments (None: any), function. The renderer evaluates index, and and or itself.
_ANY = None
ARITY: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("Date", "unixEpoch", "not"), (1, 1)),
    **dict.fromkeys(("trunc", "date", "date_modify", "toDate", "join", "ne"), (2, 2)),
    "replace": (3, 3),
    "list": (0, _ANY),
    **dict.fromkeys(("printf", "index", "and", "or"), (1, _ANY)),
    "eq": (2, _ANY),
}
FUNCTIONS: dict[str, Function | None] = {
    "Date": iso_date,
    "replace": replace,
    "trunc": truncate,
    "date": write_date,
    "date_modify": modify_date,
    "toDate": read_date,
    "unixEpoch": unix_epoch,
    "list": make_list,
    "join": join,
    "printf": printf,
    "eq": equals,
    "ne": differs,
    "not": negate,
    "index": None,
    "and": None,
    "or": None,
}
