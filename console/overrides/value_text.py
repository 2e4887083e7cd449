"""Settings and values as text. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from overrides.resolution.merging import REMOVE

_KEYS = ("key", "name")


def readable(pointer: str) -> str:
    """`/labels/app.kubernetes.io~1name` as `labels › app.kubernetes.io/name`."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    return " › ".join(steps) or "(whole document)"


def format_value(value: Any) -> str:
    """Return non-empty text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def lines_of(value: Any) -> tuple[str, ...]:
    """Return a list or an object of plain values as one line per item, and any other value as one line."""
    if isinstance(value, Mapping) and value and all(map(_is_plain, value.values())):
        return tuple(pair(name, member) for name, member in value.items())
    if isinstance(value, list) and value:
        return tuple(map(_item_line, value))
    return (format_value(value),)


def pair(name: str, value: Any) -> str:
    """Return `name=value`; the items of a list in one line."""
    if isinstance(value, list) and value and all(map(_is_plain, value)):
        return f"{name}={', '.join(map(_plain, value))}"
    return f"{name}={_plain(value)}"


def _item_line(item: Any) -> str:
    if not isinstance(item, Mapping) or not item:
        return format_value(item)
    for key in _KEYS:
        if set(item) == {key, "value"} and _is_plain(item["value"]):
            return pair(str(item[key]), item["value"])
        if set(item) == {key, REMOVE}:
            return pair(str(item[key]), None)
    return ", ".join(pair(name, member) for name, member in item.items())


def _is_plain(value: Any) -> bool:
    return not isinstance(value, Mapping | list)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
