"""FlyteAdmin's filters, sort keys and page tokens of project lists, as conditions of the database.

Source: flyteadmin's common/filters and repositories; flyte-attributes.md section 4.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.db.models import Q
from django.utils.dateparse import parse_datetime

from overrides.flyte.errors import invalid

_FILTER = re.compile(r"(?P<function>\w+)\((?P<field>[^,()]+),(?P<values>[^()]*)\)")
# Their columns and ours. They also have `id` (a number), `labels` (bytes) and `deleted_at` (never set).
_COLUMNS = {
    "identifier": "id",
    "name": "name",
    "description": "description",
    "state": "state",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
_TIMES = {"created_at", "updated_at"}
_ONE: dict[str, Callable[[str, Any], Q]] = {
    "contains": lambda column, value: Q(**{f"{column}__contains": value}),
    "not_like": lambda column, value: ~Q(**{f"{column}__regex": _pattern(str(value))}),
    "gt": lambda column, value: Q(**{f"{column}__gt": value}),
    "gte": lambda column, value: Q(**{f"{column}__gte": value}),
    "lt": lambda column, value: Q(**{f"{column}__lt": value}),
    "lte": lambda column, value: Q(**{f"{column}__lte": value}),
    "eq": lambda column, value: Q(**{column: value}),
    "ne": lambda column, value: ~Q(**{column: value}),
}
_MANY: dict[str, Callable[[str, list[Any]], Q]] = {
    "value_in": lambda column, values: Q(**{f"{column}__in": values}),
    "value_not_in": lambda column, values: ~Q(**{f"{column}__in": values}),
}


def condition(filters: str) -> Q:
    """All filters of `eq(project.name,x)+ne(state,1)` together. Raises FlyteError."""
    found = Q()
    for text in filters.split("+"):
        match = _FILTER.fullmatch(text.strip())
        if match is None:
            raise invalid(f"invalid value for filters: [{text}]")
        found &= _one(match["function"], match["field"].strip(), match["values"])
    return found


def ordering(key: str, *, ascending: bool) -> list[str]:
    """For `order_by`. Raises FlyteError."""
    if not key:
        return ["id"]
    column = _COLUMNS.get(key)
    if column is None:
        raise invalid(f"invalid sort key '{key}'")
    return [column if ascending else f"-{column}", "id"]


def offset(token: str) -> int:
    """Raises FlyteError."""
    if not token:
        return 0
    if not (token.isascii() and token.isdecimal() and len(token) < 10):
        raise invalid(f"invalid pagination token {token} for ListProjects")
    return int(token)


def _one(function: str, field: str, values: str) -> Q:
    column = _COLUMNS.get(field.removeprefix("project."))
    if function not in _ONE and function not in _MANY:
        raise invalid(f"unrecognized filter function: {function}")
    if column is None:
        raise invalid(f"'project.{field.removeprefix('project.')}' is invalid filter")
    read = [_value(column, text.strip()) for text in values.split(";")]
    if function in _MANY:
        return _MANY[function](column, read)
    if len(read) > 1:
        raise invalid(f"invalid value for filters: {function} takes one value")
    if function in ("contains", "not_like") and column in {"state", *_TIMES}:
        raise invalid(f"invalid value for filters: {function} is for texts")
    return _ONE[function](column, read[0])


def _value(column: str, text: str) -> Any:
    if column == "state":
        if not (text.isascii() and text.isdecimal() and len(text) < 5):
            raise invalid(f"invalid value for filters: state is a number, not [{text}]")
        return int(text)
    if column not in _TIMES:
        return text
    try:
        when = parse_datetime(text)
    except ValueError:
        when = None
    if when is None or when.tzinfo is None:
        raise invalid(f"invalid value for filters: [{text}] is no time, such as 2026-01-31T12:00:00Z")
    return when


def _pattern(like: str) -> str:
    """SQL's LIKE as a regular expression."""
    return "^" + re.escape(like).replace("%", ".*").replace("_", ".") + "$"
