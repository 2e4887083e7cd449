"""Rows of the matrix of effective values: a setting, with what each layer sets for it. Pure.

Labels, environment variables and other pairs are one row with a line for each pair; so is an item of a keyed
list, with a line for each of its members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.overrides import pairs
from console.overrides.forms import follow_reference
from console.overrides.value_text import lines_of, pair
from controlplane.scopes import Scope
from overrides.effective.results import EffectiveType
from overrides.resolution.leaves import ElementStep, NamedStep, Path, name_of
from overrides.resolution.resolve import Layer, Leaf, RefusedLeaf, RemovedLeaf, Resolution, ShadowReason

_BECAUSE = {
    ShadowReason.LESS_SPECIFIC: "a more specific scope sets another value",
    ShadowReason.NOT_THE_LEAST: "the lowest value applies",
    ShadowReason.NOT_THE_GREATEST: "the highest value applies",
}
_WINS = "the most specific value applies"
_LAST = 1_000
# Of one setting in the matrix. The explanation has all.
MOST_LINES = 10


@dataclass(frozen=True, slots=True)
class LayerValue:
    """What one layer sets for a setting, or for one line of it. why: it applies, or does not."""

    lines: tuple[str, ...]
    layer: Layer
    wins: bool
    why: str

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Row:
    """A setting. lines: the effective value; without one, no_value_reason is why.

    pointer: its name in the type, the same in every version of a document. inherited: the scope itself does
    not set what applies.
    """

    pointer: str
    path: Path
    lines: tuple[str, ...]
    no_value_reason: str
    values: tuple[LayerValue, ...]
    inherited: bool

    @property
    def name(self) -> str:
        return " › ".join(map(_words, self.path)) or "(whole document)"

    @property
    def text(self) -> str:
        return "\n".join(self.lines[:MOST_LINES])

    @property
    def hidden_lines(self) -> int:
        """The number of lines that only the explanation has."""
        return max(0, len(self.lines) - MOST_LINES)


@dataclass(frozen=True, slots=True)
class _Part:
    """One leaf: a line of a row, or the whole row. values: of the layers, whether and why each applies."""

    path: Path
    applies: bool
    value: Any
    reason: str
    values: tuple[tuple[Any, Layer, bool, str], ...]


def rows_of(effective: EffectiveType, scope: Scope) -> tuple[Row, ...]:
    """Return the settings of the type in the order of its schema."""
    schema = effective.resource_type.schema
    parts: dict[Path, list[_Part]] = {}
    for part in _parts(effective.resolved):
        parts.setdefault(_row_path(part.path, schema), []).append(part)
    ordered = sorted(parts, key=lambda path: _order(path, schema))
    return tuple(_row(path, parts[path], scope) for path in ordered)


def _row(path: Path, parts: Sequence[_Part], scope: Scope) -> Row:
    visible = [part for part in parts if not _repeats_name(part, parts)]
    values = tuple(
        LayerValue(_lines(path, part.path, value), layer, wins, why)
        for part in visible
        for value, layer, wins, why in part.values
    )
    lines = tuple(line for part in visible if part.applies for line in _lines(path, part.path, part.value))
    reason = "" if lines else next(part.reason for part in visible)
    own = [value for value in values if value.layer.scope == scope and not value.layer.is_default]
    applies_here = any(value.wins for value in own) or not any(value.wins for value in values)
    return Row(name_of(path), path, lines, reason, values, not (own and applies_here))


def _parts(resolved: Resolution) -> Iterator[_Part]:
    for leaf in resolved.leaves:
        yield _Part(leaf.path, True, leaf.value, "", ((leaf.value, leaf.source, True, _WINS), *_lost(leaf)))
    for removed in resolved.removed:
        winner = (None, removed.source, True, "null removes the inherited value")
        yield _Part(removed.path, False, None, "removed", (winner, *_lost(removed)))
    for refused in resolved.refused:
        reason = _refusal(refused)
        yield _Part(refused.path, False, None, reason, ((refused.value, refused.source, False, reason),))


def _lost(result: Leaf | RemovedLeaf) -> Iterator[tuple[Any, Layer, bool, str]]:
    for shadowed in result.shadowed:
        yield shadowed.value, shadowed.layer, False, _BECAUSE[shadowed.because]


def _refusal(refused: RefusedLeaf) -> str:
    return f"rejected by the guard rail {refused.rail.name}: {refused.because}"


def _row_path(path: Path, schema: Mapping[str, Any]) -> Path:
    """Return the part of the path that is a row of its own."""
    for length, step in enumerate(path):
        if isinstance(step, ElementStep) or pairs.are_pairs(_schema_at(schema, path[:length])):
            return path[:length]
        if isinstance(step, NamedStep):
            return path[: length + 1]
    return path


def _lines(row: Path, path: Path, value: Any) -> tuple[str, ...]:
    """Return the value of a leaf as lines of its row."""
    rest = path[len(row) :]
    if rest and isinstance(rest[0], NamedStep) and rest[1:] == ("value",):
        rest = rest[:1]
    elif rest and isinstance(value, Mapping) and "value" in value:
        # A whole pair, where a more specific layer removes it.
        value = value["value"]
    label = " › ".join(_words(step) for step in rest if not isinstance(step, ElementStep))
    return (pair(label, value),) if label else lines_of(value)


def _repeats_name(part: _Part, parts: Sequence[_Part]) -> bool:
    """Return whether the leaf is the name of an item that has other leaves, so that the row names it."""
    *item, step = part.path or ("",)
    last = item[-1] if item else None
    if not isinstance(last, NamedStep) or step != last.key:
        return False
    start = tuple(item)
    return any(other.path[: len(start)] == start and other.path != part.path for other in parts)


def _words(step: str | NamedStep | ElementStep) -> str:
    if isinstance(step, str):
        return step
    return step.name if isinstance(step, NamedStep) else step.value


def _order(path: Path, schema: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the position of each step among the properties of the schema."""
    positions = []
    for length, step in enumerate(path):
        names = list(_schema_at(schema, path[:length]).get("properties", {}))
        positions.append(names.index(step) if step in names else _LAST)
    return tuple(positions)


def _schema_at(schema: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Return the schema of the value at the path; an empty one if it has none."""
    current: Any = schema
    for step in path:
        if not isinstance(step, str):
            current = current.get("items")
        else:
            current = current.get("properties", {}).get(step) or current.get("additionalProperties")
        current = follow_reference(current, schema)
    schema_there: Mapping[str, Any] = current
    return schema_there
