"""Why a value applies at a scope, and why others do not: one line for each level. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.overrides.ladder import Cell, Rung
from console.overrides.matrix_rows import LayerValue, Row
from console.overrides.value_text import lines_of, pair, readable
from controlplane.scopes import Scope
from overrides.editing.plans import EffectiveChange
from overrides.files_actor import commit_of
from overrides.resolution.leaves import ABSENT
from overrides.resolution.resolve import Layer

# The rest of a leaf's name below a setting: an item of a keyed list, and one of an append-unique list.
_ITEM = re.compile(r"/\[([^=\]/\"]+)=(.*)\](?:/([^\]]*))?")
_ELEMENT = re.compile(r"/\[.*\]")


@dataclass(frozen=True, slots=True)
class Author:
    """The version that set a value, and who wrote it, when and why. version: 0 for a platform default."""

    version: int
    name: str
    at: datetime | None
    reason: str = ""
    declared_in: str = ""

    @property
    def commit(self) -> str:
        return commit_of(self.name, self.reason)


@dataclass(frozen=True, slots=True)
class Step:
    """What one level sets for a setting. layer, author: None if the level sets nothing.

    whys: the reasons of its values, each once. applies: whether any of them applies.
    """

    rung: Rung
    layer: Layer | None
    values: tuple[LayerValue, ...]
    whys: tuple[str, ...]
    author: Author | None = None

    @property
    def applies(self) -> bool:
        return any(value.wins for value in self.values)

    @property
    def can_be_removed(self) -> bool:
        return self.layer is not None and not self.layer.is_default


@dataclass(frozen=True, slots=True)
class Effect:
    """What changes at a scope: the lines of a setting now and then that differ."""

    scope: Scope
    now: tuple[str, ...]
    then: tuple[str, ...]


def effect_of(change: EffectiveChange, pointer: str) -> Effect:
    """Return the change as lines of the setting with this pointer, as the matrix writes them."""
    lines = [(_label(each.leaf, pointer), each) for each in change.differences]
    named = [(label, each) for label, each in lines if label is not None]
    now, then = (
        tuple(line for label, value in side if value is not ABSENT for line in _lines(label, value))
        for side in (
            [(label, each.before) for label, each in named],
            [(label, each.after) for label, each in named],
        )
    )
    return Effect(change.scope, now, then)


def _label(leaf: str, pointer: str) -> str | None:
    """Return the name of the leaf in its setting; None for the name of an item, which its value repeats."""
    if leaf != pointer and not leaf.startswith(f"{pointer}/"):
        return readable(leaf)
    item = _ITEM.fullmatch(rest := leaf.removeprefix(pointer))
    if item is None:
        return "" if not rest or _ELEMENT.fullmatch(rest) else readable(rest)
    key, name, member = item.groups()
    if member == key:
        return None
    label = readable(f"/{name}")
    return label if member in (None, "value") else f"{label} › {readable(f'/{member}')}"


def _lines(label: str, value: Any) -> tuple[str, ...]:
    return (pair(label, value),) if label else lines_of(value)


def explain(row: Row, cells: Sequence[Cell], authors: Mapping[Scope, Author]) -> tuple[Step, ...]:
    """Return the levels that set the row, and the scope's own, the one that applies first.

    authors: who set the value, by scope; of other layers, the author of their last version.
    """
    steps = _steps(row, cells, authors)
    return tuple(sorted(steps, key=lambda step: (not step.applies, step.layer is None)))


def _steps(row: Row, cells: Sequence[Cell], authors: Mapping[Scope, Author]) -> Iterator[Step]:
    """Yield the levels, the most specific first. Platform defaults are several layers."""
    for cell in reversed(cells):
        layers = {id(value.layer): value.layer for value in cell.values}
        for identity, layer in layers.items():
            values = tuple(value for value in cell.values if id(value.layer) == identity)
            whys = tuple(dict.fromkeys(value.why for value in values))
            yield Step(cell.rung, layer, values, whys, _author(layer, authors))
        if cell.rung.is_here and not cell.values:
            yield Step(cell.rung, None, (), (_nothing_here(row),))


def _author(layer: Layer, authors: Mapping[Scope, Author]) -> Author | None:
    if not layer.is_default and layer.scope in authors:
        return authors[layer.scope]
    origin = layer.origin
    if origin is None:
        return None
    return Author(
        origin.version, origin.changed_by, origin.changed_at, origin.change_message, origin.declared_in
    )


def _nothing_here(row: Row) -> str:
    return "nothing is set here, so the value is inherited" if row.lines else "nothing is set here"
