"""Resolve what applies at a scope, and why. Pure: no database, no clock, no settings.

The caller loads the layers (`OverrideQuerySet.covering`); here is decided which of them apply, in what
order, and which one each value came from. Provenance comes out of the same walk as the values, so the
two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.scopes import Scope
from overrides.leaves import ABSENT, Path, leaves, pointer, value_at
from overrides.merging import Attributes, MergeRule, merge


@dataclass(frozen=True, slots=True)
class Layer:
    """What is set at one scope. `origin` is the caller's: who set it, when, in which version."""

    scope: Scope
    attributes: Attributes
    origin: Any = None


@dataclass(frozen=True, slots=True)
class Stated:
    """A value, and the layer that states it."""

    value: Any
    layer: Layer


@dataclass(frozen=True, slots=True)
class Leaf:
    """One resolved value. `shadowed`: what less specific layers state here, the nearest first."""

    pointer: str
    value: Any
    source: Layer
    shadowed: tuple[Stated, ...]


@dataclass(frozen=True, slots=True)
class Removed:
    """An inherited value that a layer's null took away; `pointer` is where it would have been."""

    pointer: str
    source: Layer
    shadowed: tuple[Stated, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    attributes: Attributes
    leaves: tuple[Leaf, ...]
    removed: tuple[Removed, ...]


def resolve(target: Scope, layers: Iterable[Layer], rule: MergeRule) -> Resolved:
    """Merge the layers that cover the target, least specific first.

    Layers of one scope keep the order they came in; the order of scopes does not matter.
    """
    applicable = sorted(
        (layer for layer in layers if layer.scope.covers(target)),
        key=lambda layer: layer.scope.level,
    )
    attributes: dict[str, Any] = {}
    sources: dict[Path, int] = {}
    for index, layer in enumerate(applicable):
        attributes, sources = _apply(layer, index, attributes, sources, rule)
    return Resolved(
        attributes,
        tuple(
            _leaf(path, value, attributes, applicable, sources[path])
            for path, value in _set(attributes, applicable, rule)
        ),
        tuple(_removed(attributes, applicable, rule)),
    )


def _apply(
    layer: Layer, index: int, inherited: Attributes, sources: dict[Path, int], rule: MergeRule
) -> tuple[dict[str, Any], dict[Path, int]]:
    """Merge one layer. It owns what it states, and what it changed without naming: an object it emptied."""
    stated = {path for path, _ in leaves(layer.attributes, rule)}
    before = dict(leaves(inherited, rule))
    merged = merge(inherited, layer.attributes, rule)
    return merged, {
        path: index
        if path in stated or path not in sources or before.get(path, ABSENT) != value
        else sources[path]
        for path, value in leaves(merged, rule)
    }


def _set(attributes: Attributes, applicable: Sequence[Layer], rule: MergeRule) -> list[tuple[Path, Any]]:
    """The leaves of the answer; none where nothing is set at all, which differs from a set `{}`."""
    return list(leaves(attributes, rule)) if applicable else []


def _leaf(path: Path, value: Any, attributes: Attributes, applicable: Sequence[Layer], source: int) -> Leaf:
    return Leaf(pointer(attributes, path), value, applicable[source], _shadowed(path, applicable[:source]))


def _removed(attributes: Attributes, applicable: Sequence[Layer], rule: MergeRule) -> Iterable[Removed]:
    seen: set[Path] = set()
    for index in reversed(range(len(applicable))):
        for path, value in leaves(applicable[index].attributes, rule):
            shadowed = _shadowed(path, applicable[:index])
            lost = any(one.value is not None for one in shadowed)
            if value is None and lost and path not in seen and value_at(attributes, path) is ABSENT:
                seen.add(path)
                yield Removed(pointer(attributes, path), applicable[index], shadowed)


def _shadowed(path: Path, below: Sequence[Layer]) -> tuple[Stated, ...]:
    stated = ((value_at(layer.attributes, path), layer) for layer in reversed(below))
    return tuple(Stated(value, layer) for value, layer in stated if value is not ABSENT)
