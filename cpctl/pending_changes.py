"""Scheduled changes in words: until when a value applies, and what follows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cpctl.output import Item, as_text
from cpctl.scopes import scope_text


def pending_lines(change: Item, is_asked: Callable[[str], bool] = lambda pointer: True) -> list[str]:
    """Return a line for each value that a pending change sets or restores, if its pointer is asked for.

    What a scheduled change will replace is not known before its time.
    """
    place = f"{change['resource_type']} at {scope_text(change['scope'])}"
    after = dict(_leaves(change["attributes"] or {}))
    if change["state"] != "applied":
        asked = [leaf for leaf in sorted(after) if is_asked(leaf)]
        deletes = [f"{place}: deleted at {change['due_at']}"] if change["attributes"] is None else []
        return deletes or [f"{place}: {leaf} {_value(after, leaf)} from {change['due_at']}" for leaf in asked]
    before, after = after, dict(_leaves(change["before"] or {}))
    return [
        f"{place}: {leaf} {_value(before, leaf)} until {change['due_at']}, then {_value(after, leaf)}"
        for leaf in sorted({*before, *after})
        if before.get(leaf) != after.get(leaf) and is_asked(leaf)
    ]


def _leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield pointer, value
        return
    for name, below in value.items():
        yield from _leaves(below, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")


def _value(leaves: Mapping[str, Any], leaf: str) -> str:
    return as_text(leaves[leaf]) if leaf in leaves else "inherited"
