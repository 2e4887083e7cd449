"""Effective values: load the layers that a scope inherits in one query, and resolve them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.scopes import Scope
from overrides.models import Override
from overrides.projects import check_known
from overrides.resolution import Layer, Resolved, resolve
from overrides.resource_types import BUILT_IN, ResourceType, get_type


@dataclass(frozen=True, slots=True)
class EffectiveType:
    """What applies of one resource type."""

    resource_type: ResourceType
    resolved: Resolved


@dataclass(frozen=True, slots=True)
class Effective:
    """The answer for a scope. `fingerprint` changes exactly when one of its inputs did."""

    scope: Scope
    types: tuple[EffectiveType, ...]
    fingerprint: str


def effective_attributes(scope: Scope, *, resource_type: str = "") -> Effective:
    """Resolve every type that is set anywhere on the scope's ladder, or the one asked for.

    Raises UnknownProject, UnknownDomain, UnknownResourceType.
    """
    wanted = [get_type(resource_type)] if resource_type else list(BUILT_IN.values())
    check_known(scope)
    rows = Override.objects.covering(scope).filter(resource_type__in=[one.name for one in wanted])
    found = list(rows)
    layers = _layers_by_type(found)
    types = tuple(
        EffectiveType(one, resolve(scope, layers[one.name], one.rule)) for one in wanted if one.name in layers
    )
    return Effective(scope, types, _fingerprint(scope, resource_type, found))


def _layers_by_type(rows: Iterable[Override]) -> dict[str, list[Layer]]:
    layers: dict[str, list[Layer]] = defaultdict(list)
    for row in rows:
        layers[row.resource_type].append(Layer(row.scope, row.attributes, origin=row))
    return layers


def _fingerprint(scope: Scope, resource_type: str, rows: Iterable[Override]) -> str:
    """Hash the question and the version of every input: an id is never used twice."""
    inputs = sorted(f"{row.id}:{row.version}" for row in rows)
    text = "\n".join([*scope.segments.values(), resource_type, *inputs])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
