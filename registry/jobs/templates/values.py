"""Values of templates: text, integers, booleans, lists of text, moments, objects and missing values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from registry.jobs.templates.errors import EvaluationError
from registry.jobs.templates.moments import Moment

Path = tuple[str, ...]
Data = Mapping[str, "str | Mapping[str, str]"]
NO_VALUE = "<no value>"


@dataclass(frozen=True, slots=True)
class Missing:
    """The value of a key that does not exist. path: names from the top of the data."""

    path: Path


@dataclass(frozen=True, slots=True)
class Members:
    """An object of the data. path: names from the top of the data."""

    path: Path
    values: Mapping[str, str | Mapping[str, str]]


Value = str | int | bool | tuple[str, ...] | Moment | Members | Missing


def is_true(value: Value) -> bool:
    """Return the truth by Go's rules: a value is false if it is missing, empty or zero."""
    match value:
        case Missing():
            return False
        case Members():
            return bool(value.values)
        case Moment():
            return True
    return bool(value)


def write_value(value: Value, missing: str = NO_VALUE) -> str:
    """Return the value as Go prints it. missing: the text for a missing value."""
    match value:
        case Missing():
            return missing
        case bool():
            return "true" if value else "false"
        case tuple():
            return f"[{' '.join(value)}]"
        case Members():
            raise EvaluationError("An object cannot be printed. Name one of its fields.")
    return str(value)


def describe(value: Value) -> str:
    """Return the type of the value for a message, which must not contain the value itself."""
    if isinstance(value, Missing):
        return f"the missing value .{'.'.join(value.path)}"[:120]
    return _TYPES[type(value)]


_TYPES: dict[type, str] = {
    Members: "an object",
    Moment: "a time",
    tuple: "a list",
    bool: "a boolean",
    int: "a number",
    str: "text",
}
