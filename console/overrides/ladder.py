"""EffectiveAttributes values as a table: one row per setting, one column per rung of the ladder."""

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
    ShadowReason.LESS_SPECIFIC: "a more specific scope sets another value",
    ShadowReason.NOT_THE_LEAST: "the lowest value applies",
    ShadowReason.NOT_THE_GREATEST: "the highest value applies",
}
_WINS = "the most specific value applies"


@dataclass(frozen=True, slots=True)
class Rung:
    """A column: the platform defaults, or one scope of the ladder."""

    label: str
    scope: Scope
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class LayerValue:
    """Value of a setting in one layer, and whether it applies."""

    value: str
    layer: Layer
    wins: bool
    why: str


@dataclass(frozen=True, slots=True)
class Row:
    """A setting. value: the effective value. no_value_reason: why there is none."""

    name: str
    value: str
    no_value_reason: str
    cells: tuple[tuple[Rung, tuple[LayerValue, ...]], ...]

    @property
    def layer_values(self) -> list[LayerValue]:
        """Return the values of all layers, the effective one first."""
        return sorted(
            (layer_value for _, cell in self.cells for layer_value in cell),
            key=lambda layer_value: not layer_value.wins,
        )


@dataclass(frozen=True, slots=True)
class Rail:
    """A guard rail that applies to a setting here. bounds: its limits as text."""

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
    # Problems of the combined values.
    warnings: tuple[FieldError, ...]
    # The override at the scope itself, if any.
    own: Layer | None


def tables(effective: EffectiveAttributes) -> list[Table]:
    return [_table(effective_type, effective.scope) for effective_type in effective.types]


def rungs_of(scope: Scope, layers: Sequence[Layer]) -> tuple[Rung, ...]:
    """Return the rungs of the scope's ladder, after the platform defaults if there are any."""
    defaults = [Rung("platform default", Scope(), True)] if any(layer.is_default for layer in layers) else []
    return (*defaults, *(Rung(level_name(rung), rung) for rung in scope.ladder()))


def level_name(scope: Scope) -> str:
    return scope.level.name.lower().replace("_", "-")


def readable(pointer: str) -> str:
    """`/labels/app.kubernetes.io~1name` as `labels › app.kubernetes.io/name`."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    return " › ".join(steps) or "(whole document)"


def format_value(value: Any) -> str:
    """Return non-empty text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _table(effective: EffectiveType, scope: Scope) -> Table:
    rungs, layers = rungs_of(scope, effective.layers), effective.layers
    own = next((layer for layer in layers if layer.scope == scope and not layer.is_default), None)
    resolved = effective.resolved
    rows = (
        *(
            _row(rungs, leaf.pointer, format_value(leaf.value), "", _leaf_values(leaf))
            for leaf in resolved.leaves
        ),
        *(_row(rungs, leaf.pointer, "", "removed", _removed_values(leaf)) for leaf in resolved.removed),
        *(_row(rungs, leaf.pointer, "", _refusal(leaf), [_refused_value(leaf)]) for leaf in resolved.refused),
    )
    return Table(
        effective.resource_type, rungs, rows, tuple(map(_rail, effective.rails)), effective.warnings, own
    )


def _rail(rail: GuardRail) -> Rail:
    return Rail(rail.name, " › ".join(rail.path), "; ".join(_bounds(rail)), rail.scope, rail.reason)


def _bounds(rail: GuardRail) -> Iterator[str]:
    if rail.minimum is not None:
        yield f"at least {format_value(rail.minimum)}"
    if rail.maximum is not None:
        yield f"at most {format_value(rail.maximum)}"
    if rail.allowed is not None:
        yield f"only {', '.join(map(format_value, rail.allowed))}"
    if rail.lock_below is not None:
        yield f"locked below the level {rail.lock_below.name.lower().replace('_', '-')}"


def _row(
    rungs: Sequence[Rung], pointer: str, value: str, no_value_reason: str, layer_values: Sequence[LayerValue]
) -> Row:
    cells = tuple(
        (rung, tuple(layer_value for layer_value in layer_values if _belongs_to(layer_value.layer, rung)))
        for rung in rungs
    )
    return Row(readable(pointer), value, no_value_reason, cells)


def _belongs_to(layer: Layer, rung: Rung) -> bool:
    # All defaults share one column, including those of a domain.
    return rung.is_default if layer.is_default else not rung.is_default and layer.scope == rung.scope


def _leaf_values(leaf: Leaf) -> list[LayerValue]:
    return [LayerValue(format_value(leaf.value), leaf.source, True, _WINS), *_shadowed(leaf)]


def _removed_values(removed: RemovedLeaf) -> list[LayerValue]:
    return [LayerValue("null", removed.source, True, "null removes the inherited value"), *_shadowed(removed)]


def _refused_value(refused: RefusedLeaf) -> LayerValue:
    return LayerValue(format_value(refused.value), refused.source, False, _refusal(refused))


def _refusal(refused: RefusedLeaf) -> str:
    return f"rejected by the guard rail {refused.rail.name}: {refused.because}"


def _shadowed(result: Leaf | RemovedLeaf) -> Iterator[LayerValue]:
    for shadowed in result.shadowed:
        yield LayerValue(format_value(shadowed.value), shadowed.layer, False, _BECAUSE[shadowed.because])
