"""Where one override lies, and what somebody wants to stand there. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.scopes import Scope
from overrides.resolution.merging import Attributes


@dataclass(frozen=True, slots=True)
class Address:
    """Where one override lies: a resource type at a scope."""

    resource_type: str
    scope: Scope

    def __str__(self) -> str:
        return f"{self.resource_type} at {self.scope}"


@dataclass(frozen=True, slots=True)
class Statement:
    """What somebody declares for an address. attributes: as they are stored, in snake_case.

    declared_in: the place in a file, such as "teams/ml.yaml:12"; empty for the API. pointer: where in the
    request's body it stands, for errors.
    """

    address: Address
    attributes: Attributes
    declared_in: str = ""
    pointer: str = ""
