"""Effective values: what applies at scopes, and why. Used by the API, the console and Flyte's endpoints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from controlplane.observability.traces import spans
from controlplane.scopes import Scope
from overrides.effective.flyte_strategy import as_flyte
from overrides.effective.results import EffectiveAttributes, EffectiveType, EffectiveValues, TypeValues
from overrides.effective.shared_types import SharedTypes
from overrides.loading.layers import FLYTEADMIN_LAYERS, LoadedLayers, load_layers
from overrides.loading.platform_defaults import platform_defaults
from overrides.projects import check_listed
from overrides.resolution.resolve import values_only
from overrides.resource_types import ResourceType
from overrides.resource_types.references import reference_warnings


def effective_attributes(
    scope: Scope, *, resource_type: str = "", as_of: int | None = None
) -> EffectiveAttributes:
    """Resolve every type that is set anywhere on the scope's ladder, or only the given type.

    as_of: a past revision. Raises UnknownProject, UnknownDomain, UnknownResourceType.
    """
    (answer,) = effective_many([scope], resource_type=resource_type, as_of=as_of)
    return answer


def effective_many(
    scopes: Sequence[Scope],
    *,
    resource_type: str = "",
    as_of: int | None = None,
    with_fingerprints: bool = True,
) -> list[EffectiveAttributes]:
    """Resolve many scopes with one query. with_fingerprints: False leaves them empty."""
    with spans.span("effective.resolve") as span:
        loaded, types = _load(scopes, resource_type, as_of)
        shared = SharedTypes(loaded, types, platform_defaults())
        referring = [each for each in types if each.references]
        answers = ((scope, _with_references(shared.of(scope), referring)) for scope in scopes)
        resolved = [
            EffectiveAttributes(
                scope, found, _fingerprint(scope, resource_type, found) if with_fingerprints else ""
            )
            for scope, found in answers
        ]
        if span.is_recording:
            _describe(span, resolved)
    return resolved


def _describe(span: spans.Span, resolved: Sequence[EffectiveAttributes]) -> None:
    types = [found for answer in resolved for found in answer.types]
    span.set("controlplane.scopes", len(resolved))
    span.set("controlplane.types", len(types))
    span.set("controlplane.levels", len({layer.scope for found in types for layer in found.layers}))
    span.set("controlplane.leaves", sum(len(found.resolved.leaves) for found in types))


def flyte_attributes(
    scope: Scope, *, resource_type: str = "", as_of: int | None = None
) -> EffectiveAttributes:
    """Resolve the scope by FlyteAdmin's rules, including the defaults in its code."""
    effective = effective_attributes(scope, resource_type=resource_type, as_of=as_of)
    return as_flyte(effective, FLYTEADMIN_LAYERS, resource_type)


def values_many(
    scopes: Sequence[Scope], *, resource_type: str = "", as_of: int | None = None
) -> list[EffectiveValues]:
    """Return the values of `effective_many` without sources: much smaller (docs/performance.md)."""
    loaded, types = _load(scopes, resource_type, as_of)
    return [EffectiveValues(scope, tuple(_values(types, scope, loaded))) for scope in scopes]


def _values(types: Iterable[ResourceType], scope: Scope, loaded: LoadedLayers) -> Iterator[TypeValues]:
    for resource_type in types:
        layers = loaded.of(resource_type, scope, platform_defaults())
        if layers:
            rails = loaded.catalogue.rails_of(resource_type.name)
            yield TypeValues(resource_type, values_only(scope, layers, resource_type.rule, rails))


def _load(
    scopes: Sequence[Scope], resource_type: str, as_of: int | None
) -> tuple[LoadedLayers, list[ResourceType]]:
    """Run the one query; return its result and the types to resolve."""
    loaded = load_layers(scopes, resource_type=resource_type, as_of=as_of)
    catalogue = loaded.catalogue
    selected = [catalogue.get(resource_type)] if resource_type else list(catalogue.types.values())
    check_listed(scopes, loaded.projects, loaded.domains)
    return loaded, selected


def _with_references(
    types: tuple[EffectiveType, ...], referring: Sequence[ResourceType]
) -> tuple[EffectiveType, ...]:
    """Add warnings about values that refer to another type, to those types that have some."""
    if not referring:
        return types
    attributes = {each.resource_type.name: each.resolved.attributes for each in types}
    warnings = reference_warnings(referring, attributes)
    return tuple(
        replace(each, related=warnings[each.resource_type.name])
        if each.resource_type.name in warnings
        else each
        for each in types
    )


def _fingerprint(scope: Scope, resource_type: str, types: Iterable[EffectiveType]) -> str:
    """Hash the query and the version of every input. Ids are never reused."""
    inputs = [*scope.segments.values(), resource_type, platform_defaults().digest]
    for effective_type in types:
        inputs.append(f"{effective_type.resource_type.name}:{effective_type.resource_type.version}")
        inputs += [f"{rail.origin.id}" for rail in effective_type.rails]
        inputs += [f"{layer.origin.override_id}:{layer.origin.version}" for layer in effective_type.layers]
    return hashlib.sha256("\n".join(inputs).encode()).hexdigest()[:32]
