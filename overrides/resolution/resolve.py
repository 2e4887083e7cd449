"""Resolve the effective values at a scope and their sources. Pure: no database, no clock, no settings.

The caller loads the layers; this module decides which of them apply, in what order, and which layer each
value comes from. Values and sources come out of the same loop, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from controlplane.scopes import Scope
from overrides.resolution.leaves import (
    ABSENT,
    Path,
    has_removal,
    leaves,
    name_of,
    pointer,
    schema_path,
    value_at,
    without,
)
from overrides.resolution.merging import Attributes, Combine, MergeRule, Strategy, canonical, merge
from overrides.resolution.rails import Breach, GuardRail, breaches


@dataclass(frozen=True, slots=True)
class Layer:
    """The attributes set at one scope. `origin` is opaque here: who set them, when, in which version.

    is_default: a platform default. Defaults rank below everything that is set, including the global scope.
    """

    scope: Scope
    attributes: Attributes
    origin: Any = None
    is_default: bool = False


class ShadowReason(StrEnum):
    """Why a value that a layer sets does not apply."""

    LESS_SPECIFIC = "less_specific"
    NOT_THE_LEAST = "not_the_least"
    NOT_THE_GREATEST = "not_the_greatest"


@dataclass(frozen=True, slots=True)
class LosingValue:
    """A value that lost, the layer that sets it, and why it lost."""

    value: Any
    layer: Layer
    because: ShadowReason = ShadowReason.LESS_SPECIFIC


@dataclass(frozen=True, slots=True)
class Leaf:
    """One resolved value. `shadowed`: the values of other layers, the most specific first."""

    pointer: str
    value: Any
    source: Layer
    shadowed: tuple[LosingValue, ...]
    path: Path = ()


@dataclass(frozen=True, slots=True)
class RemovedLeaf:
    """An inherited value that a layer's null removed; `pointer` is where it would have been."""

    pointer: str
    source: Layer
    shadowed: tuple[LosingValue, ...]
    path: Path = ()


@dataclass(frozen=True, slots=True)
class RefusedLeaf:
    """A value that does not apply because it breaks a guard rail."""

    pointer: str
    value: Any
    source: Layer
    rail: GuardRail
    because: str
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    attributes: Attributes
    leaves: tuple[Leaf, ...]
    removed: tuple[RemovedLeaf, ...]
    refused: tuple[RefusedLeaf, ...] = ()


# Each leaf of the attributes merged so far: its value, and the index of the layer that it comes from.
LeafSources = dict[Path, tuple[Any, int]]


@dataclass(frozen=True, slots=True)
class MergeTrace:
    """The layers so far, least specific first, and the attributes before, between and after them.

    owned: the leaves of the last attributes. removes: whether any layer may remove an inherited value.
    """

    rule: MergeRule
    steps: tuple[Attributes, ...] = ({},)
    layers: tuple[Layer, ...] = ()
    owned: LeafSources = field(default_factory=dict)
    removes: bool = False

    @property
    def attributes(self) -> Attributes:
        return self.steps[-1]


def resolve(
    target: Scope, layers: Iterable[Layer], rule: MergeRule, rails: Iterable[GuardRail] = ()
) -> Resolution:
    """Merge the layers that cover the target, least specific first.

    Layers of the same scope keep their order; the order of scopes does not matter.
    """
    applicable, refused = applicable_layers(target, layers, rule, rails)
    trace = MergeTrace(rule)
    for layer in applicable:
        trace = with_layer(trace, layer)
    found = tuple(leaf_of(path, value, trace, source) for path, (value, source) in trace.owned.items())
    return Resolution(trace.attributes, found, removed_leaves(trace), refused)


def with_layer(trace: MergeTrace, layer: Layer) -> MergeTrace:
    """Return the trace with one more layer, which is more specific than all before."""
    attributes = merge(trace.attributes, layer.attributes, trace.rule)
    return MergeTrace(
        trace.rule,
        (*trace.steps, attributes),
        (*trace.layers, layer),
        _leaf_sources(layer, len(trace.layers), attributes, trace.owned, trace.rule),
        trace.removes or has_removal(layer.attributes),
    )


def values_only(
    target: Scope,
    layers: Iterable[Layer],
    rule: MergeRule,
    rails: Iterable[GuardRail] = (),
    inherited: Attributes = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the attributes of `resolve` without their sources: for checking many scopes.

    inherited: the merged less specific layers, where the caller has them already.
    """
    attributes = dict(inherited)
    for layer in applicable_layers(target, layers, rule, rails)[0]:
        attributes = merge(attributes, layer.attributes, rule)
    return attributes


def applicable_layers(
    target: Scope, layers: Iterable[Layer], rule: MergeRule, rails: Iterable[GuardRail]
) -> tuple[list[Layer], tuple[RefusedLeaf, ...]]:
    """Return the layers that apply, least specific first, without the values that guard rails refuse."""
    applicable = in_order(layer for layer in layers if layer.scope.covers(target))
    governing = [rail for rail in rails if rail.scope.covers(target)]
    admitted: list[Layer] = []
    refused: list[RefusedLeaf] = []
    for layer in applicable:
        allowed, refused_here = admit(layer, governing, rule)
        admitted += [layer for layer in (allowed,) if layer is not None]
        refused += refused_here
    return admitted, tuple(refused)


def in_order(layers: Iterable[Layer]) -> list[Layer]:
    """Return the layers, least specific first and platform defaults before all others."""
    return sorted(layers, key=lambda layer: (not layer.is_default, layer.scope.level))


def admit(
    layer: Layer, governing: Sequence[GuardRail], rule: MergeRule
) -> tuple[Layer | None, tuple[RefusedLeaf, ...]]:
    """Return the layer without what the rails refuse, None if nothing is left, and what they refuse."""
    if not governing:
        return layer, ()
    level = None if layer.is_default else layer.scope.level
    if not (broken := breaches(governing, level, layer.attributes, rule)):
        return layer, ()
    attributes = _without(layer.attributes, broken, rule)
    refused = tuple(
        RefusedLeaf(name_of(breach.path), breach.value, layer, breach.rail, breach.reason, breach.path)
        for breach in broken
    )
    return None if attributes is ABSENT else replace(layer, attributes=attributes), refused


def _without(attributes: Any, broken: Iterable[Breach], rule: MergeRule) -> Any:
    for breach in broken:
        if attributes is not ABSENT:
            attributes = without(attributes, breach.path[: rule.unit_of(schema_path(breach.path))])
    return attributes


def _leaf_sources(
    layer: Layer, index: int, merged: Attributes, before: LeafSources, rule: MergeRule
) -> LeafSources:
    """Return the leaves after one layer. It owns what it sets, and what it changes without naming it."""
    stated = dict(leaves(layer.attributes, rule))
    sources: LeafSources = {}
    for path, value in leaves(merged, rule):
        previous = before.get(path)
        owns_leaf = previous is None or _owns(path, value, stated, previous[0], rule)
        sources[path] = (value, index if owns_leaf or previous is None else previous[1])
    return sources


def _owns(path: Path, value: Any, stated: dict[Path, Any], previous: Any, rule: MergeRule) -> bool:
    if path not in stated:
        return _replaces_part(path, stated, rule) or bool(previous != value)
    # With `min` and `max`, the value that the layer sets may have lost.
    replaces = _shadow_reason(path, rule) is ShadowReason.LESS_SPECIFIC
    return replaces or canonical(stated[path]) == canonical(value)


def _replaces_part(path: Path, stated: dict[Path, Any], rule: MergeRule) -> bool:
    """Return whether the layer sets something in a part around the leaf that applies as a whole."""
    location = schema_path(path)
    unit = rule.unit_of(location)
    whole = unit < len(path) or rule.strategy is Strategy.REPLACE
    if not whole and rule.combine_at(location) is not Combine.REPLACE:
        return False
    return any(stated_path[:unit] == path[:unit] for stated_path in stated)


def leaf_of(path: Path, value: Any, trace: MergeTrace, source: int) -> Leaf:
    reason = _shadow_reason(path, trace.rule)
    below, above = trace.layers[:source], trace.layers[source + 1 :]
    losing_layers = below if reason is ShadowReason.LESS_SPECIFIC else (*below, *above)
    location = pointer(trace.attributes, path)
    return Leaf(location, value, trace.layers[source], losing_values(path, losing_layers, reason), path)


def removed_leaves(trace: MergeTrace) -> tuple[RemovedLeaf, ...]:
    return tuple(_removed(trace)) if trace.removes else ()


def _removed(trace: MergeTrace) -> Iterable[RemovedLeaf]:
    paths: set[Path] = set()
    for index in reversed(range(len(trace.layers))):
        layer = trace.layers[index]
        if not has_removal(layer.attributes):
            continue
        for path, value in leaves(layer.attributes, trace.rule):
            if value is None and path not in paths and _removes_value(path, index, trace):
                paths.add(path)
                location = pointer(trace.attributes, path)
                yield RemovedLeaf(location, layer, losing_values(path, trace.layers[:index]), path)


def _removes_value(path: Path, index: int, trace: MergeTrace) -> bool:
    """Return whether a null removed a value at the path, and no later layer set a value again.

    A null that repeats another one owns the removal. A part that applies as a whole removes everything that
    it does not contain, so nulls in it are not reported.
    """
    is_back = any(value_at(step, path) is not ABSENT for step in trace.steps[index + 1 :])
    if is_back or trace.rule.unit_of(schema_path(path)) < len(path):
        return False
    for step in range(index, -1, -1):
        if value_at(trace.steps[step], path) is not ABSENT:
            return step == index or value_at(trace.layers[step].attributes, path) is None
    return False


def losing_values(
    path: Path, losing_layers: Sequence[Layer], because: ShadowReason = ShadowReason.LESS_SPECIFIC
) -> tuple[LosingValue, ...]:
    """Return the values of the layers at the path, the most specific first."""
    stated = ((value_at(layer.attributes, path), layer) for layer in reversed(losing_layers))
    return tuple(LosingValue(value, layer, because) for value, layer in stated if value is not ABSENT)


def _shadow_reason(path: Path, rule: MergeRule) -> ShadowReason:
    combine = rule.combine_at(schema_path(path)) if rule.combine else None
    reasons = {Combine.MIN: ShadowReason.NOT_THE_LEAST, Combine.MAX: ShadowReason.NOT_THE_GREATEST}
    return reasons.get(combine, ShadowReason.LESS_SPECIFIC) if combine else ShadowReason.LESS_SPECIFIC
