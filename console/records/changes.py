"""Differences between two JSON documents, by field. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Difference:
    """A changed field. before or after: None if the field was absent."""

    name: str
    before: str | None
    after: str | None


def compare(before: Any, after: Any) -> list[Difference]:
    """Return the fields that differ, by name."""
    old, new = dict(_leaves(before)), dict(_leaves(after))
    return [
        Difference(name, _format_leaf(old, name), _format_leaf(new, name))
        for name in dict.fromkeys([*old, *new])
        if name not in old or name not in new or _differ(old[name], new[name])
    ]


def _differ(left: Any, right: Any) -> bool:
    """Compare as JSON does: in Python `True == 1`."""
    return type(left) is not type(right) or bool(left != right)


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _leaves(below, f"{name} › {key}" if name else str(key))
    elif value is not None or name:
        yield name or "(whole document)", value


def _format_leaf(leaves: dict[str, Any], name: str) -> str | None:
    if name not in leaves:
        return None
    value = leaves[name]
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
