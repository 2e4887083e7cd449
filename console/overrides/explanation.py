"""Why a value applies at a scope, and why others do not: one line for each level. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from console.overrides.ladder import Cell, Rung
from console.overrides.matrix_rows import LayerValue, Row
from overrides.resolution.resolve import Layer


@dataclass(frozen=True, slots=True)
class Step:
    """What one level sets for a setting. layer: None if the level sets nothing.

    whys: the reasons of its values, each once. applies: whether any of them applies.
    """

    rung: Rung
    layer: Layer | None
    values: tuple[LayerValue, ...]
    whys: tuple[str, ...]

    @property
    def applies(self) -> bool:
        return any(value.wins for value in self.values)


@dataclass(frozen=True, slots=True)
class Explanation:
    row: Row
    steps: tuple[Step, ...]


def explain(row: Row, cells: Sequence[Cell]) -> Explanation:
    """Return the levels that set the row, and the scope's own, the one that applies first."""
    steps = sorted(_steps(cells), key=lambda step: (not step.applies, step.layer is None))
    return Explanation(row, tuple(steps))


def _steps(cells: Sequence[Cell]) -> Iterator[Step]:
    """Yield the levels, the most specific first. Platform defaults are several layers."""
    for cell in reversed(cells):
        for layer in dict.fromkeys(id(value.layer) for value in cell.values):
            values = tuple(value for value in cell.values if id(value.layer) == layer)
            yield Step(
                cell.rung, values[0].layer, values, tuple(dict.fromkeys(value.why for value in values))
            )
        if cell.rung.is_here and not cell.values:
            yield Step(cell.rung, None, (), ("nothing is set here, so the value is inherited",))
