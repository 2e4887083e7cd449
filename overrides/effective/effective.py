"""Effective values: what applies at scopes, and why. The API, the console and Flyte's endpoints ask here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from controlplane.scopes import Scope
from overrides.effective.flyte_strategy import as_flyte
from overrides.effective.results import Effective, EffectiveType, EffectiveValues, TypeValues
from overrides.loading.layers import FLYTEADMIN_LAYERS, Loaded, load_layers
from overrides.loading.platform_defaults import platform_defaults
from overrides.projects import check_listed
from overrides.resolution.resolve import resolve, values_only
from overrides.resource_types import ResourceType


def effective_attributes(scope: Scope, *, resource_type: str = "", as_of: int | None = None) -> Effective:
    """Resolve every type that is set anywhere on the scope's ladder, or the one asked for.

    as_of: a revision to look back to. Raises UnknownProject, UnknownDomain, UnknownResourceType.
    """
    (answer,) = effective_many([scope], resource_type=resource_type, as_of=as_of)
    return answer


def effective_many(
    scopes: Sequence[Scope], *, resource_type: str = "", as_of: int | None = None
) -> list[Effective]:
    """The same for many scopes, with one query."""
    loaded, wanted = _load(scopes, resource_type, as_of)
    return [_effective(scope, wanted, loaded, resource_type) for scope in scopes]


def flyte_attributes(scope: Scope, *, resource_type: str = "", as_of: int | None = None) -> Effective:
    """What an execution gets at the scope by FlyteAdmin's rules, its code's defaults included."""
    effective = effective_attributes(scope, resource_type=resource_type, as_of=as_of)
    return as_flyte(effective, FLYTEADMIN_LAYERS, resource_type)


def values_many(
    scopes: Sequence[Scope], *, resource_type: str = "", as_of: int | None = None
) -> list[EffectiveValues]:
    """The values of `effective_many` without their sources: much smaller (docs/performance.md)."""
    loaded, wanted = _load(scopes, resource_type, as_of)
    return [EffectiveValues(scope, tuple(_values(wanted, scope, loaded))) for scope in scopes]


def _values(wanted: Iterable[ResourceType], scope: Scope, loaded: Loaded) -> Iterator[TypeValues]:
    for one in wanted:
        layers = loaded.of(one, scope, platform_defaults())
        if layers:
            rails = loaded.catalogue.rails_of(one.name)
            yield TypeValues(one, values_only(scope, layers, one.rule, rails))


def _load(
    scopes: Sequence[Scope], resource_type: str, as_of: int | None
) -> tuple[Loaded, list[ResourceType]]:
    """What the one query finds, and the types that are asked for."""
    loaded = load_layers(scopes, resource_type=resource_type, as_of=as_of)
    types = loaded.catalogue
    wanted = [types.get(resource_type)] if resource_type else list(types.types.values())
    check_listed(scopes, loaded.projects, loaded.domains)
    return loaded, wanted


def _effective(scope: Scope, wanted: Iterable[ResourceType], loaded: Loaded, resource_type: str) -> Effective:
    types = tuple(found for one in wanted if (found := _of_type(one, scope, loaded)) is not None)
    return Effective(scope, types, _fingerprint(scope, resource_type, types))


def _of_type(one: ResourceType, scope: Scope, loaded: Loaded) -> EffectiveType | None:
    layers = loaded.of(one, scope, platform_defaults())
    if not layers:
        return None
    rails = tuple(rail for rail in loaded.catalogue.rails_of(one.name) if rail.scope.covers(scope))
    return EffectiveType(one, resolve(scope, layers, one.rule, rails), rails, tuple(layers))


def _fingerprint(scope: Scope, resource_type: str, types: Iterable[EffectiveType]) -> str:
    """Hash the question and the version of every input: an id is never used twice."""
    inputs = [*scope.segments.values(), resource_type, platform_defaults().digest]
    for one in types:
        inputs.append(f"{one.resource_type.name}:{one.resource_type.version}")
        inputs += [f"{rail.origin.id}" for rail in one.rails]
        inputs += [f"{layer.origin.override_id}:{layer.origin.version}" for layer in one.layers]
    return hashlib.sha256("\n".join(inputs).encode()).hexdigest()[:32]
