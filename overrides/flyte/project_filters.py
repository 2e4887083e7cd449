"""FlyteAdmin's filters, sort keys and page tokens of project lists, as database conditions.

Source: flyteadmin's manager/impl/util/filters.go, common/filters.go and common/sorting.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import BooleanField, F, Func, Q, Value
from django.utils.dateparse import parse_datetime

from overrides.flyte.errors import invalid

# Our columns by theirs. FlyteAdmin's `id` counts registrations, so `created_at` sorts alike.
_COLUMNS = {
    "identifier": "id",
    "name": "name",
    "description": "description",
    "state": "state",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
_SORTED_BY = {**_COLUMNS, "id": "created_at"}
_TIMES = {"created_at", "updated_at"}
# Prefixes of fields, and their names in errors.
_ENTITIES = {
    "task": "t",
    "workflow": "w",
    "launch_plan": "l",
    "execution": "e",
    "node_execution": "ne",
    "task_execution": "te",
    "entities": "nen",
    "named_entity_metadata": "nem",
    "project": "p",
    "signal": "s",
    "admin_tag": "at",
    "execution_admin_tag": "eat",
    "execution_tag": "et",
}
_PROJECT = "p"
_TOKEN = re.compile(r"[-+]?[0-9]{1,19}")
_MAX_OFFSET = 2**63 - 1
# flyteidl's enum Sort.Direction.
_DIRECTIONS = {0: "-", 1: ""}


class _Like(Func):
    """SQL's LIKE with the caller's own % and _."""

    template = "%(expressions)s"
    arg_joiner = " LIKE "
    output_field = BooleanField()


_SINGLE_VALUE: dict[str, Callable[[str, Any], Q]] = {
    "contains": lambda column, value: Q(_Like(F(column), Value(f"%{value}%"))),
    "not_like": lambda column, value: ~Q(_Like(F(column), Value(value))),
    "gt": lambda column, value: Q(**{f"{column}__gt": value}),
    "gte": lambda column, value: Q(**{f"{column}__gte": value}),
    "lt": lambda column, value: Q(**{f"{column}__lt": value}),
    "lte": lambda column, value: Q(**{f"{column}__lte": value}),
    "eq": lambda column, value: Q(**{column: value}),
    "ne": lambda column, value: ~Q(**{column: value}),
}
_MULTI_VALUE: dict[str, Callable[[str, list[Any]], Q]] = {
    "value_in": lambda column, values: Q(**{f"{column}__in": values}),
    "value_not_in": lambda column, values: ~Q(**{f"{column}__in": values}),
}


def condition(filters: str) -> Q:
    """Return the conjunction of filters such as `eq(project.name,x)+ne(state,1)`. Raises FlyteError."""
    combined = Q()
    for text in filters.split("+"):
        function, field, values = split_filter(text)
        combined &= _condition(function, _column(field), values.split(";"))
    return combined


def ordering(sort: Any) -> list[str]:
    """Return the arguments of `order_by`. sort: flyteidl's Sort message. Raises FlyteError."""
    if sort.key == "deleted_at":  # never set
        return ["id"]
    column = _SORTED_BY.get(sort.key)
    if column is None:
        raise invalid(f"invalid sort key '{sort.key}'")
    if sort.direction not in _DIRECTIONS:
        raise invalid(f"invalid sort order specified: {sort.direction}")
    return [f"{_DIRECTIONS[sort.direction]}{column}", "id"]


def offset(token: str) -> int:
    """Return the number of rows to skip. Raises FlyteError."""
    if not token:
        return 0
    number = int(token) if _TOKEN.fullmatch(token) else -1
    if not 0 <= number <= _MAX_OFFSET:
        raise invalid(f"invalid pagination token {token} for ListProjects")
    return number


def split_filter(text: str) -> tuple[str, str, str]:
    r"""Return function, field and values: the groups of the first match of `(.+)\((.+),\s?(.+)\)`.

    Search from the end, because that expression takes cubic time. Raises FlyteError.
    """
    end = text.rfind(")")
    comma = text.rfind(",", 0, max(end - 1, 0))
    opening = text.rfind("(", 1, max(comma - 1, 1))
    if min(end, comma, opening) < 0 or "\n" in text:
        raise invalid("invalid value for filters")
    values = text[comma + 1 : end]
    if len(values) > 1 and values[0] in " \t\r\f":
        values = values[1:]
    return text[:opening], text[opening + 1 : comma], values


def _column(field: str) -> str:
    prefix, dot, rest = field.partition(".")
    entity = _ENTITIES.get(prefix) if dot else None
    name = rest if entity else field
    if entity not in (None, _PROJECT):
        raise invalid(f"'{entity}' entity is not allowed in filters")
    if name not in _COLUMNS:
        raise invalid(f"'{_PROJECT}.{name}' is invalid filter")
    return _COLUMNS[name]


def _condition(function: str, column: str, texts: Sequence[str]) -> Q:
    if function in _MULTI_VALUE:
        return _MULTI_VALUE[function](column, [_value(column, text) for text in texts])
    if function not in _SINGLE_VALUE:
        raise invalid(f"unrecognized filter function: {function}")
    if len(texts) > 1:
        raise invalid(f"invalid value for filters: {function} takes one value")
    if function in ("contains", "not_like") and column in {"state", *_TIMES}:
        raise invalid(f"invalid value for filters: {function} is for texts")
    return _SINGLE_VALUE[function](column, _value(column, texts[0]))


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
