"""The settings whose effective values differ between two scopes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from console.overrides.ladder import level_name
from console.overrides.matrix_rows import Row, rows_of
from overrides.effective.results import EffectiveAttributes, EffectiveType
from overrides.resolution.leaves import ABSENT, value_at
from overrides.resolution.merging import canonical
from overrides.resource_types import ResourceType


@dataclass(frozen=True, slots=True)
class Side:
    """What applies at one scope. lines: those that the other scope does not have. levels: their origin."""

    lines: tuple[str, ...]
    levels: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A setting that differs. equal: the number of its lines that both scopes have."""

    name: str
    left: Side
    right: Side
    equal: int


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    type: ResourceType
    rows: tuple[ComparedRow, ...]


def compare(left: EffectiveAttributes, right: EffectiveAttributes) -> list[ComparedGroup]:
    """Return the types with a difference, and their settings that differ."""
    left_types = {each.resource_type.name: each for each in left.types}
    right_types = {each.resource_type.name: each for each in right.types}
    groups = []
    for name, effective_type in (right_types | left_types).items():
        rows = tuple(_differing(_rows(left_types.get(name), left), _rows(right_types.get(name), right)))
        if rows:
            groups.append(ComparedGroup(effective_type.resource_type, rows))
    return groups


# A setting by its name in the type, with its value as canonical JSON; empty without one.
_Rows = dict[str, tuple[Row, str]]


def _rows(effective: EffectiveType | None, answer: EffectiveAttributes) -> _Rows:
    if effective is None:
        return {}
    return {row.pointer: (row, _value(effective, row)) for row in rows_of(effective, answer.scope)}


def _value(effective: EffectiveType, row: Row) -> str:
    value = value_at(effective.resolved.attributes, row.path)
    return "" if value is ABSENT else canonical(value)


def _differing(left: _Rows, right: _Rows) -> Iterator[ComparedRow]:
    for pointer in left | right:
        before, after = left.get(pointer), right.get(pointer)
        values = [side[1] if side else "" for side in (before, after)]
        if values[0] == values[1]:
            continue
        rows = [side[0] if side else None for side in (before, after)]
        lines = [row.lines if row else () for row in rows]
        both = set(lines[0]) & set(lines[1]) if len(lines[0]) + len(lines[1]) > 2 else set()
        name = next(row.name for row in rows if row)
        yield ComparedRow(name, _side(rows[0], both), _side(rows[1], both), len(both))


def _side(row: Row | None, both: set[str]) -> Side:
    if row is None:
        return Side((), ())
    lines = tuple(line for line in row.lines if line not in both)
    winners = [value for value in row.values if value.wins and set(value.lines) & set(lines)]
    levels = (
        "platform default" if value.layer.is_default else level_name(value.layer.scope) for value in winners
    )
    return Side(lines, tuple(dict.fromkeys(levels)))
