"""Results of reading effective values: what applies at a scope, and why. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controlplane.errors import FieldError
from controlplane.scopes import Scope
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer, Resolution
from overrides.resource_types import ResourceType


@dataclass(frozen=True, slots=True)
class EffectiveType:
    """The effective values of one resource type, and the guard rails in effect at the scope.

    related: warnings about values that refer to another type.
    """

    resource_type: ResourceType
    resolved: Resolution
    rails: tuple[GuardRail, ...] = ()
    layers: tuple[Layer, ...] = ()
    related: tuple[FieldError, ...] = ()

    @property
    def warnings(self) -> tuple[FieldError, ...]:
        """Validation errors of the effective values. Changes through Flyte's API can leave some."""
        errors = [
            FieldError("", "level_not_allowed", f"It is set at {layer.scope}: {reason}")
            for layer in self.layers
            if (reason := self.resource_type.not_at.get(layer.scope.level)) and not layer.is_default
        ]
        if self.resolved.attributes:
            errors += self.resource_type.resolved_errors(self.resolved.attributes)
        return (*errors, *self.related)


@dataclass(frozen=True, slots=True)
class EffectiveAttributes:
    """The effective values at a scope. `fingerprint` changes exactly when one of its inputs changes."""

    scope: Scope
    types: tuple[EffectiveType, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class TypeValues:
    resource_type: ResourceType
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EffectiveValues:
    """The effective values at a scope, without their sources."""

    scope: Scope
    types: tuple[TypeValues, ...]
