"""Effective values as a ladder: one row for a setting, one column for a rung, each with what it says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.errors.field_error import FieldError
from controlplane.scopes import Scope
from overrides.effective.results import EffectiveAttributes, EffectiveType
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer, Leaf, RefusedLeaf, RemovedLeaf, ShadowReason
from overrides.resource_types import ResourceType

_BECAUSE = {
    ShadowReason.LESS_SPECIFIC: "a more specific scope says something else",
    ShadowReason.NOT_THE_LEAST: "the least value applies, and this is not it",
    ShadowReason.NOT_THE_GREATEST: "the greatest value applies, and this is not it",
}
_WINS = "it is the most specific that says anything"


@dataclass(frozen=True, slots=True)
class Rung:
    """A column: the platform's defaults, or one scope of the ladder."""

    label: str
    scope: Scope
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """What one layer says of one setting, and whether that applies."""

    value: str
    layer: Layer
    wins: bool
    why: str


@dataclass(frozen=True, slots=True)
class Row:
    """One setting. value: what applies; empty where nothing does, and `instead` says why."""

    name: str
    value: str
    instead: str
    cells: tuple[tuple[Rung, tuple[Said, ...]], ...]

    @property
    def said(self) -> list[Said]:
        """All that is said, what applies first."""
        return sorted((one for _, cell in self.cells for one in cell), key=lambda one: not one.wins)


@dataclass(frozen=True, slots=True)
class Rail:
    """A guard rail that governs a setting here. bounds: what it allows, in words."""

    name: str
    setting: str
    bounds: str
    scope: Scope
    reason: str


@dataclass(frozen=True, slots=True)
class Table:
    type: ResourceType
    rungs: tuple[Rung, ...]
    rows: tuple[Row, ...]
    rails: tuple[Rail, ...]
    # What is wrong with the combined values.
    warnings: tuple[FieldError, ...]
    # What is set at the scope itself, if anything.
    own: Layer | None


def tables(effective: EffectiveAttributes) -> list[Table]:
    return [_table(one, effective.scope) for one in effective.types]


def rungs_of(scope: Scope, layers: Sequence[Layer]) -> tuple[Rung, ...]:
    """The ladder of the scope, and below it the platform's defaults if there are any."""
    defaults = [Rung("platform default", Scope(), True)] if any(one.is_default for one in layers) else []
    return (*defaults, *(Rung(level_name(rung), rung) for rung in scope.ladder()))


def level_name(scope: Scope) -> str:
    return scope.level.name.lower().replace("_", "-")


def readable(pointer: str) -> str:
    """`/labels/app.kubernetes.io~1name` as `labels › app.kubernetes.io/name`."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    return " › ".join(steps) or "(everything)"


def in_words(value: Any) -> str:
    """A text as it is, unless it would be invisible; anything else as JSON."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _table(one: EffectiveType, scope: Scope) -> Table:
    rungs = rungs_of(scope, one.layers)
    own = next((layer for layer in one.layers if layer.scope == scope and not layer.is_default), None)
    found = one.resolved
    rows = (
        *(_row(rungs, it.pointer, in_words(it.value), "", _of_leaf(it)) for it in found.leaves),
        *(_row(rungs, it.pointer, "", "removed", _of_removed(it)) for it in found.removed),
        *(_row(rungs, it.pointer, "", _refusal(it), [_of_refused(it)]) for it in found.refused),
    )
    return Table(one.resource_type, rungs, rows, tuple(map(_rail, one.rails)), one.warnings, own)


def _rail(one: GuardRail) -> Rail:
    return Rail(one.name, " › ".join(one.path), "; ".join(_bounds(one)), one.scope, one.reason)


def _bounds(one: GuardRail) -> Iterator[str]:
    if one.minimum is not None:
        yield f"{in_words(one.minimum)} at least"
    if one.maximum is not None:
        yield f"{in_words(one.maximum)} at most"
    if one.allowed is not None:
        yield f"only {', '.join(map(in_words, one.allowed))}"
    if one.lock_below is not None:
        yield f"locked below the level {one.lock_below.name.lower().replace('_', '-')}"


def _row(rungs: Sequence[Rung], pointer: str, value: str, instead: str, said: Sequence[Said]) -> Row:
    cells = tuple((rung, tuple(one for one in said if _lies_at(one.layer, rung))) for rung in rungs)
    return Row(readable(pointer), value, instead, cells)


def _lies_at(layer: Layer, rung: Rung) -> bool:
    # All defaults stand in one column, those of a domain too.
    return rung.is_default if layer.is_default else not rung.is_default and layer.scope == rung.scope


def _of_leaf(leaf: Leaf) -> list[Said]:
    return [Said(in_words(leaf.value), leaf.source, True, _WINS), *_shadowed(leaf)]


def _of_removed(gone: RemovedLeaf) -> list[Said]:
    return [Said("null", gone.source, True, "null here removes what is inherited"), *_shadowed(gone)]


def _of_refused(one: RefusedLeaf) -> Said:
    return Said(in_words(one.value), one.source, False, _refusal(one))


def _refusal(one: RefusedLeaf) -> str:
    return f"refused by the guard rail {one.rail.name}: {one.because}"


def _shadowed(found: Leaf | RemovedLeaf) -> Iterator[Said]:
    for one in found.shadowed:
        yield Said(in_words(one.value), one.layer, False, _BECAUSE[one.because])
