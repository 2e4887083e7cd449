"""Effective values as rows of a page: pointers in words, values in their plainest form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from overrides.answers import Effective
from overrides.resolution import Layer, Leaf, Removed
from overrides.resource_types import ResourceType


@dataclass(frozen=True, slots=True)
class Row:
    """One setting: its value, the layer that it is from, and what that layer hides."""

    name: str
    value: str
    source: Layer
    lost: tuple[tuple[str, Layer], ...]


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A value that is set, and that a guard rail keeps from applying here."""

    name: str
    value: str
    source: Layer
    rail: str
    because: str


@dataclass(frozen=True, slots=True)
class Table:
    type: ResourceType
    rows: tuple[Row, ...]
    removed: tuple[Row, ...]
    refused: tuple[RefusedRow, ...]


def tables(effective: Effective) -> list[Table]:
    return [
        Table(
            one.resource_type,
            tuple(_row(leaf, in_words(leaf.value)) for leaf in one.resolved.leaves),
            tuple(_row(gone, "") for gone in one.resolved.removed),
            tuple(
                RefusedRow(readable(it.pointer), in_words(it.value), it.source, it.rail.name, it.because)
                for it in one.resolved.refused
            ),
        )
        for one in effective.types
    ]


def readable(pointer: str) -> str:
    """`/labels/app.kubernetes.io~1name` as `labels › app.kubernetes.io/name`."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    return " › ".join(steps) or "(everything)"


def in_words(value: Any) -> str:
    """A text as it is, unless it would be invisible; anything else as JSON."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _row(found: Leaf | Removed, value: str) -> Row:
    lost = tuple((in_words(one.value), one.layer) for one in found.shadowed)
    return Row(readable(found.pointer), value, found.source, lost)
