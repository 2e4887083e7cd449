"""What expressions can ask of values. Pure."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from typing import Any

from cpctl.selectors.filters import BadValue, Filter, iterate, truth


def plain_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _length(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, dict | list | str):
        raise BadValue(value, "has no length")
    return len(value)


def _keys(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        raise BadValue(value, "has no keys")
    return sorted(value)


def _sorted(value: Any) -> list[Any]:
    return sorted(_list(value), key=_rank)


def _unique(value: Any) -> list[Any]:
    told: list[Any] = []
    for one in _sorted(value):
        if not told or not _same(told[-1], one):
            told.append(one)
    return told


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise BadValue(value, "is no list")
    return value


def _rank(value: Any) -> tuple[int, Any]:
    """jq's order: null, false, true, numbers, strings, and the rest as it is written."""
    if value is None or isinstance(value, bool):
        return (0 if value is None else 1, bool(value))
    if isinstance(value, int | float):
        return (2, value)
    return (3, value) if isinstance(value, str) else (4, json.dumps(value, sort_keys=True))


def _same(left: Any, right: Any) -> bool:
    # In Python 1 is True.
    return bool(left == right) and isinstance(left, bool) is isinstance(right, bool)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: compare(_rank(left), _rank(right))


def _select(wanted: Filter) -> Filter:
    return lambda value: (value for one in wanted(value) if truth(one))


def _map(each: Filter) -> Filter:
    return lambda value: iter([[found for one in iterate(value) for found in each(one)]])


def _sort_by(by: Filter) -> Filter:
    return lambda value: iter([sorted(_list(value), key=lambda one: [_rank(key) for key in by(one)])])


def _asks(question: Callable[[Any, Any], Any]) -> Callable[[Filter], Filter]:
    """A function of the value and of what its argument says."""
    return lambda said: lambda value: (question(value, one) for one in said(value))


def _has(value: Any, key: Any) -> bool:
    if not isinstance(value, dict):
        raise BadValue(value, "has no keys")
    return key in value


def _contains(value: Any, part: Any) -> bool:
    if isinstance(value, str) and isinstance(part, str):
        return part in value
    return any(_same(one, part) for one in _list(value))


def _starts(value: Any, part: Any) -> bool:
    return _text(value).startswith(_text(part))


def _ends(value: Any, part: Any) -> bool:
    return _text(value).endswith(_text(part))


def _join(value: Any, between: Any) -> str:
    return _text(between).join("" if one is None else plain_text(one) for one in _list(value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadValue(value, "is no string")
    return value


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _same,
    "!=": lambda left, right: not _same(left, right),
    "<=": _ordered(operator.le),
    ">=": _ordered(operator.ge),
    "<": _ordered(operator.lt),
    ">": _ordered(operator.gt),
}
PLAIN: dict[str, Callable[[Any], Any]] = {
    "length": _length,
    "keys": _keys,
    "not": lambda value: not truth(value),
    "first": lambda value: next(iter(_list(value)), None),
    "last": lambda value: _list(value)[-1] if _list(value) else None,
    "sort": _sorted,
    "unique": _unique,
    "tostring": plain_text,
}
OF_A_FILTER: dict[str, Callable[[Filter], Filter]] = {
    "select": _select,
    "map": _map,
    "sort_by": _sort_by,
    "has": _asks(_has),
    "contains": _asks(_contains),
    "startswith": _asks(_starts),
    "endswith": _asks(_ends),
    "join": _asks(_join),
}
