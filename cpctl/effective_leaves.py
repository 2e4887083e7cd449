"""Effective values leaf by leaf, and how they change. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cpctl.output import GAP, Item, as_text
from cpctl.scopes import scope_text

Leaves = Mapping[tuple[str, str], Item]


@dataclass(frozen=True, slots=True)
class LeafChange:
    """A leaf before and after a change; None: it did not apply, or does not any more."""

    resource_type: str
    pointer: str
    before: Item | None
    after: Item | None

    def line(self) -> str:
        """Return the change with its sign, and the scope that now sets the value."""
        sign = "+" if self.before is None else "-" if self.after is None else "~"
        values = " → ".join(as_text(leaf["value"]) for leaf in (self.before, self.after) if leaf)
        line = f"{sign} {self.resource_type} {self.pointer}: {values}"
        return f"{line}{GAP}{origin(self.after)}" if self.after else line


def leaves(answer: Item) -> Leaves:
    """Return the leaves of an answer of the API, by resource type and pointer."""
    return dict(_leaves(answer))


def _leaves(answer: Item) -> Iterator[tuple[tuple[str, str], Item]]:
    for effective in answer["items"]:
        for leaf in effective["leaves"]:
            yield (
                (effective["resource_type"], leaf["pointer"]),
                {"resource_type": effective["resource_type"], **leaf},
            )


def changes(before: Leaves, after: Leaves) -> list[LeafChange]:
    """Return the leaves whose value differs. A value from another scope that is the same is no change."""
    places = [*before, *(place for place in after if place not in before)]
    return [
        LeafChange(*place, before.get(place), after.get(place))
        for place in places
        if _value(before.get(place)) != _value(after.get(place))
    ]


def _value(leaf: Item | None) -> tuple[Any, ...]:
    # JSON's true and 1 are equal in Python.
    return () if leaf is None else (as_text(leaf["value"]), type(leaf["value"]))


def origin(leaf: Item) -> str:
    """Return what sets a leaf: the scope with its version and author, or the platform default."""
    source = leaf["source"]
    if source["kind"] != "override":
        return "platform default"
    return f"{scope_text(source['scope'])} v{source['version']} by {source['changed_by']}"
