"""Addresses of overrides, and statements of what an override should be. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from controlplane.scopes import Scope
from overrides.resolution.merging import Attributes, canonical


@dataclass(frozen=True, slots=True)
class Address:
    """The identity of one override: a resource type at a scope."""

    resource_type: str
    scope: Scope

    def __str__(self) -> str:
        return f"{self.resource_type} at {self.scope}"


@dataclass(frozen=True)
class Statement:
    """The attributes declared for an address, in the stored spelling (snake_case).

    declared_in: the file and line, such as "teams/ml.yaml:12"; empty for the API. pointer: the location in
    the request body, for errors.
    """

    address: Address
    attributes: Attributes
    declared_in: str = ""
    pointer: str = ""

    @cached_property
    def text(self) -> str:
        """The attributes as canonical JSON: equal documents have equal texts."""
        return canonical(self.attributes)
