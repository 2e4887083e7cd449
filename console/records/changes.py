"""Before and after, as lines that say what changed. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """One member. before or after is None where it was not there."""

    name: str
    before: str | None
    after: str | None


def lines(before: Any, after: Any) -> list[Line]:
    """What differs, by name; members that are equal are left out."""
    old, new = dict(_leaves(before)), dict(_leaves(after))
    return [
        Line(name, _told(old, name), _told(new, name))
        for name in dict.fromkeys([*old, *new])
        if name not in old or name not in new or _differ(old[name], new[name])
    ]


def _differ(one: Any, other: Any) -> bool:
    """As JSON has it: in Python `True == 1`."""
    return type(one) is not type(other) or bool(one != other)


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _leaves(below, f"{name} › {key}" if name else str(key))
    elif value is not None or name:
        yield name or "(everything)", value


def _told(leaves: dict[str, Any], name: str) -> str | None:
    if name not in leaves:
        return None
    value = leaves[name]
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
