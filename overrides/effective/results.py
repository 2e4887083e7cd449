"""The answer to "what applies here, and why", as data. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controlplane.errors import FieldError
from controlplane.scopes import Scope
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer, Resolved
from overrides.resource_types import ResourceType


@dataclass(frozen=True, slots=True)
class EffectiveType:
    """What applies of one resource type, and the guard rails that govern it here."""

    resource_type: ResourceType
    resolved: Resolved
    rails: tuple[GuardRail, ...] = ()
    layers: tuple[Layer, ...] = ()

    @property
    def warnings(self) -> tuple[FieldError, ...]:
        """What is wrong with what applies. Flyte's writes and deletions may leave it so."""
        found = [
            FieldError("", "level_not_allowed", f"It is set at {layer.scope}: {reason}")
            for layer in self.layers
            if (reason := self.resource_type.not_at.get(layer.scope.level)) and not layer.is_default
        ]
        if self.resolved.attributes:
            found += self.resource_type.resolved_errors(self.resolved.attributes)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Effective:
    """The answer for a scope. `fingerprint` changes exactly when one of its inputs did."""

    scope: Scope
    types: tuple[EffectiveType, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class TypeValues:
    resource_type: ResourceType
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EffectiveValues:
    """What applies at a scope, without why."""

    scope: Scope
    types: tuple[TypeValues, ...]
