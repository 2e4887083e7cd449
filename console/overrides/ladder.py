"""Effective values as one matrix: a row for each setting, a column for each level with a value. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from console.overrides.matrix_rows import MOST_LINES, LayerValue, Row, rows_of
from console.overrides.value_text import format_value
from controlplane.errors.field_error import FieldError
from controlplane.scopes import Scope
from overrides.effective.results import EffectiveAttributes, EffectiveType
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer
from overrides.resource_types import ResourceType


@dataclass(frozen=True, slots=True)
class Rung:
    """A column: the platform defaults, or one scope of the ladder. name: what the level does not say."""

    label: str
    scope: Scope
    name: str = ""
    is_default: bool = False
    is_here: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """What one level sets for a setting."""

    rung: Rung
    values: tuple[LayerValue, ...]

    @property
    def first_values(self) -> tuple[LayerValue, ...]:
        return self.values[:MOST_LINES]


@dataclass(frozen=True, slots=True)
class Rail:
    """A guard rail that applies to a setting here. bounds: its limits as text."""

    name: str
    setting: str
    bounds: str
    scope: Scope
    reason: str


@dataclass(frozen=True, slots=True)
class Group:
    """The settings of one resource type."""

    type: ResourceType
    rows: tuple[tuple[Row, tuple[Cell, ...]], ...]
    rails: tuple[Rail, ...]
    # Problems of the combined values.
    warnings: tuple[FieldError, ...]
    # The override at the scope itself, if any.
    own: Layer | None


@dataclass(frozen=True, slots=True)
class Matrix:
    rungs: tuple[Rung, ...]
    groups: tuple[Group, ...]

    @property
    def width(self) -> int:
        """The number of columns, with the setting and its effective value."""
        return len(self.rungs) + 2


def matrix(effective: EffectiveAttributes) -> Matrix:
    """Return the settings of all types, with the levels that set any of them and the scope's own level."""
    types = [(each, rows_of(each, effective.scope)) for each in effective.types]
    layers = [value.layer for _, rows in types for row in rows for value in row.values]
    rungs = rungs_of(effective.scope, layers)
    return Matrix(rungs, tuple(_group(each, rows, effective.scope, rungs) for each, rows in types))


def rungs_of(scope: Scope, layers: Sequence[Layer]) -> tuple[Rung, ...]:
    """Return the levels of the layers and of the scope, platform defaults first."""
    has_defaults = any(layer.is_default for layer in layers)
    defaults = [Rung("platform default", Scope(), is_default=True)] if has_defaults else []
    scopes = {layer.scope for layer in layers if not layer.is_default} | {scope}
    return (*defaults, *(_rung(rung, scope) for rung in scope.ladder() if rung in scopes))


def cells_of(row: Row, rungs: Sequence[Rung]) -> tuple[Cell, ...]:
    """Return what each level sets for the row. All platform defaults share one."""
    return tuple(
        Cell(rung, tuple(value for value in row.values if _is_of(value.layer, rung))) for rung in rungs
    )


def level_name(scope: Scope) -> str:
    return scope.level.name.lower().replace("_", "-")


def _rung(rung: Scope, scope: Scope) -> Rung:
    name = rung.launch_plan or rung.workflow or " / ".join(filter(None, (rung.project, rung.domain)))
    return Rung(level_name(rung), rung, name, is_here=rung == scope)


def _is_of(layer: Layer, rung: Rung) -> bool:
    return rung.is_default if layer.is_default else not rung.is_default and layer.scope == rung.scope


def _group(effective: EffectiveType, rows: Sequence[Row], scope: Scope, rungs: Sequence[Rung]) -> Group:
    own = next((layer for layer in effective.layers if layer.scope == scope and not layer.is_default), None)
    return Group(
        effective.resource_type,
        tuple((row, cells_of(row, rungs)) for row in rows),
        tuple(map(_rail, effective.rails)),
        effective.warnings,
        own,
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
