"""Resolve what applies at a scope, and why. Pure: no database, no clock, no settings.

The caller loads the layers; here is decided which of them apply, in what order, and which one each value
came from. Provenance comes out of the same walk as the values, so the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from controlplane.scopes import Scope
from overrides.resolution.leaves import ABSENT, Path, leaves, name_of, pointer, schema_path, value_at, without
from overrides.resolution.merging import Attributes, Combine, MergeRule, Strategy, canonical, merge
from overrides.resolution.rails import Breach, GuardRail, breaches


@dataclass(frozen=True, slots=True)
class Layer:
    """What is set at one scope. `origin` is the caller's: who set it, when, in which version.

    is_default: a platform default. Those lie below everything that is set, the global scope included.
    """

    scope: Scope
    attributes: Attributes
    origin: Any = None
    is_default: bool = False


class Because(StrEnum):
    """Why a stated value is not the one that applies."""

    LESS_SPECIFIC = "less_specific"
    NOT_THE_LEAST = "not_the_least"
    NOT_THE_GREATEST = "not_the_greatest"


@dataclass(frozen=True, slots=True)
class Stated:
    """A value that lost, the layer that states it, and why it lost."""

    value: Any
    layer: Layer
    because: Because = Because.LESS_SPECIFIC


@dataclass(frozen=True, slots=True)
class Leaf:
    """One resolved value. `shadowed`: what other layers state here, the most specific first."""

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
class Refused:
    """A statement that a guard rail keeps from applying here."""

    pointer: str
    value: Any
    source: Layer
    rail: GuardRail
    because: str


@dataclass(frozen=True, slots=True)
class Resolved:
    attributes: Attributes
    leaves: tuple[Leaf, ...]
    removed: tuple[Removed, ...]
    refused: tuple[Refused, ...] = ()


# Each leaf of what is merged so far: its value, and the number of the layer that it is from.
Owned = dict[Path, tuple[Any, int]]


@dataclass(frozen=True, slots=True)
class Walked:
    """The layers, least specific first, and the attributes before, between and after them."""

    steps: Sequence[Attributes]
    layers: Sequence[Layer]
    rule: MergeRule

    @property
    def attributes(self) -> Attributes:
        return self.steps[-1]


def resolve(
    target: Scope, layers: Iterable[Layer], rule: MergeRule, rails: Iterable[GuardRail] = ()
) -> Resolved:
    """Merge the layers that cover the target, least specific first.

    Layers of one scope keep the order they came in; the order of scopes does not matter.
    """
    applicable, refused = admit(target, layers, rule, rails)
    steps: list[dict[str, Any]] = [{}]
    owned: Owned = {}
    for index, layer in enumerate(applicable):
        attributes = merge(steps[-1], layer.attributes, rule)
        owned = _owned(layer, index, attributes, owned, rule)
        steps.append(attributes)
    walked = Walked(steps, applicable, rule)
    return Resolved(
        walked.attributes,
        tuple(_leaf(path, value, walked, source) for path, (value, source) in owned.items()),
        tuple(_removed(walked)),
        refused,
    )


def values_only(
    target: Scope,
    layers: Iterable[Layer],
    rule: MergeRule,
    rails: Iterable[GuardRail] = (),
    inherited: Attributes = MappingProxyType({}),
) -> dict[str, Any]:
    """The attributes that `resolve` returns, without their provenance: for checking many scopes.

    inherited: what less specific layers come to, where the caller knows it.
    """
    attributes = dict(inherited)
    for layer in admit(target, layers, rule, rails)[0]:
        attributes = merge(attributes, layer.attributes, rule)
    return attributes


def admit(
    target: Scope, layers: Iterable[Layer], rule: MergeRule, rails: Iterable[GuardRail]
) -> tuple[list[Layer], tuple[Refused, ...]]:
    """The layers that apply, least specific first, without what guard rails refuse."""
    applicable = sorted(
        (layer for layer in layers if layer.scope.covers(target)),
        key=lambda layer: (not layer.is_default, layer.scope.level),
    )
    governing = [rail for rail in rails if rail.scope.covers(target)]
    if not governing:
        return applicable, ()
    admitted, refused = [], []
    for layer in applicable:
        level = None if layer.is_default else layer.scope.level
        found = breaches(governing, level, layer.attributes, rule)
        attributes = _without(layer.attributes, found, rule)
        if attributes is not ABSENT:
            admitted.append(replace(layer, attributes=attributes) if found else layer)
        refused += [Refused(name_of(one.path), one.value, layer, one.rail, one.because) for one in found]
    return admitted, tuple(refused)


def _without(attributes: Any, found: Iterable[Breach], rule: MergeRule) -> Any:
    for one in found:
        if attributes is not ABSENT:
            attributes = without(attributes, one.path[: rule.unit_of(schema_path(one.path))])
    return attributes


def _owned(layer: Layer, index: int, merged: Attributes, before: Owned, rule: MergeRule) -> Owned:
    """The leaves after one layer. It owns what it states, and what it changed without naming it."""
    stated = dict(leaves(layer.attributes, rule))
    found: Owned = {}
    for path, value in leaves(merged, rule):
        earlier = before.get(path)
        mine = earlier is None or _owns(path, value, stated, earlier[0], rule)
        found[path] = (value, index if mine or earlier is None else earlier[1])
    return found


def _owns(path: Path, value: Any, stated: dict[Path, Any], earlier: Any, rule: MergeRule) -> bool:
    if path not in stated:
        return _took_over(path, stated, rule) or bool(earlier != value)
    # Of a minimum or maximum the layer may have stated a value that lost.
    return _because(path, rule) is Because.LESS_SPECIFIC or canonical(stated[path]) == canonical(value)


def _took_over(path: Path, stated: dict[Path, Any], rule: MergeRule) -> bool:
    """True if the layer states something in a part around the leaf that is taken whole."""
    where = schema_path(path)
    unit = rule.unit_of(where)
    whole = unit < len(path) or rule.strategy is Strategy.REPLACE
    if not whole and rule.combine_at(where) is not Combine.REPLACE:
        return False
    return any(one[:unit] == path[:unit] for one in stated)


def _leaf(path: Path, value: Any, walked: Walked, source: int) -> Leaf:
    because = _because(path, walked.rule)
    below, above = walked.layers[:source], walked.layers[source + 1 :]
    others = below if because is Because.LESS_SPECIFIC else [*below, *above]
    where = pointer(walked.attributes, path)
    return Leaf(where, value, walked.layers[source], _shadowed(path, others, because))


def _removed(walked: Walked) -> Iterable[Removed]:
    seen: set[Path] = set()
    for index in reversed(range(len(walked.layers))):
        layer = walked.layers[index]
        for path, value in leaves(layer.attributes, walked.rule):
            if value is None and path not in seen and _took_away(path, index, walked):
                seen.add(path)
                where = pointer(walked.attributes, path)
                yield Removed(where, layer, _shadowed(path, walked.layers[:index]))


def _took_away(path: Path, index: int, walked: Walked) -> bool:
    """True if but for nulls there would be a value, and nobody has set one since.

    A null that repeats another owns the removal.

    What is taken whole takes everything away that it does not say; there a null is nothing special.
    """
    is_back = any(value_at(step, path) is not ABSENT for step in walked.steps[index + 1 :])
    if is_back or walked.rule.unit_of(schema_path(path)) < len(path):
        return False
    for step in range(index, -1, -1):
        if value_at(walked.steps[step], path) is not ABSENT:
            return step == index or value_at(walked.layers[step].attributes, path) is None
    return False


def _shadowed(
    path: Path, others: Sequence[Layer], because: Because = Because.LESS_SPECIFIC
) -> tuple[Stated, ...]:
    stated = ((value_at(layer.attributes, path), layer) for layer in reversed(others))
    return tuple(Stated(value, layer, because) for value, layer in stated if value is not ABSENT)


def _because(path: Path, rule: MergeRule) -> Because:
    how = rule.combine_at(schema_path(path)) if rule.combine else None
    reasons = {Combine.MIN: Because.NOT_THE_LEAST, Combine.MAX: Because.NOT_THE_GREATEST}
    return reasons.get(how, Because.LESS_SPECIFIC) if how else Because.LESS_SPECIFIC
