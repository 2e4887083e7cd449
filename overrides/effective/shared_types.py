"""The effective types of many scopes of one load: scopes that inherit alike get the same objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controlplane.scopes import Scope
from overrides.effective.results import EffectiveType
from overrides.loading.layers import LoadedLayers, all_default_layers
from overrides.loading.platform_defaults import PlatformDefaults
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer
from overrides.resolution.sharing import MergedLayers
from overrides.resource_types import ResourceType


@dataclass(frozen=True, slots=True)
class _Type:
    """A type with its platform defaults and guard rails, of all scopes."""

    resource_type: ResourceType
    defaults: Sequence[Layer]
    rails: Sequence[GuardRail]
    name: str


class SharedTypes:
    """Resolves the types at each scope of a load."""

    def __init__(
        self, loaded: LoadedLayers, types: Iterable[ResourceType], defaults: PlatformDefaults
    ) -> None:
        self._loaded = loaded
        self._types = [
            _Type(each, all_default_layers(each, defaults), loaded.catalogue.rails_of(each.name), each.name)
            for each in types
        ]
        # By type and governing rails, and the same down to a project and domain.
        self._roots: dict[tuple[str, tuple[str, ...]], MergedLayers] = {}
        self._upper: dict[Scope, list[MergedLayers]] = {}
        # By the id of the merged layers, which their roots keep.
        self._known: dict[int, EffectiveType] = {}

    def of(self, scope: Scope) -> tuple[EffectiveType, ...]:
        """Return the types that are set anywhere on the scope's ladder."""
        *_, upper = (rung for rung in scope.ladder() if not rung.workflow)
        if (shared := self._upper.get(upper)) is None:
            shared = self._upper[upper] = [self._merged(each, upper) for each in self._types]
        stored = self._loaded.layers
        own = [stored[rung] for rung in scope.ladder() if rung.workflow and rung in stored]
        return tuple(
            self._effective_type(each, merged)
            for each, above in zip(self._types, shared, strict=True)
            # Rails can also govern from below.
            if (merged := self._merged(each, scope) if each.rails else _with(above, each, own)).layer
        )

    def _merged(self, of: _Type, scope: Scope) -> MergedLayers:
        """Return the layers of the type on the scope's whole ladder."""
        governing = tuple(rail for rail in of.rails if rail.scope.covers(scope))
        key = (of.name, tuple(rail.name for rail in governing))
        if (merged := self._roots.get(key)) is None:
            merged = self._roots[key] = MergedLayers.begin(of.resource_type.rule, governing)
        for layer in of.defaults:
            if layer.scope.covers(scope):
                merged = merged.with_layer(layer)
        return _with(merged, of, self._loaded.rungs(scope))

    def _effective_type(self, of: _Type, merged: MergedLayers) -> EffectiveType:
        if (known := self._known.get(id(merged))) is None:
            rails, layers = tuple(merged.governing), tuple(merged.all_layers())
            known = EffectiveType(of.resource_type, merged.resolution, rails, layers)
            self._known[id(merged)] = known
        return known


def _with(merged: MergedLayers, of: _Type, rungs: Iterable[Mapping[str, Layer]]) -> MergedLayers:
    """Add the type's layers of the rungs."""
    for rung in rungs:
        if (layer := rung.get(of.name)) is not None:
            merged = merged.with_layer(layer)
    return merged
