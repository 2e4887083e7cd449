"""Decide which registrations of providers are valid: one provider per service type of an agent. Pure.

The table is DCM's (environment-agents.md 2.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.errors import NameTaken, ServiceTypeTaken


@dataclass(frozen=True, slots=True)
class RegisteredProvider:
    """A provider of the agent. holds: it holds its service type. expired: its lease has expired."""

    provider_id: str
    name: str
    service_type: str
    holds: bool
    expired: bool


@dataclass(frozen=True, slots=True)
class Placement:
    """Result of a registration. same: the provider that registers again. released: who loses the type."""

    same: RegisteredProvider | None
    released: RegisteredProvider | None


def place(
    name: str, provider_id: str | None, service_type: str, providers: Sequence[RegisteredProvider]
) -> Placement:
    """Decide what a registration does. Raises NameTaken and ServiceTypeTaken."""
    same = next((row for row in providers if row.name == name), None)
    if same and provider_id not in (None, same.provider_id):
        raise NameTaken(
            f"The provider {name!r} is registered with the id {same.provider_id!r}, not {provider_id!r}."
        )
    other = next((row for row in providers if row.provider_id == provider_id and row.name != name), None)
    if other:
        raise NameTaken(f"The id {provider_id!r} is already used by the provider {other.name!r}.")
    holder = next(
        (row for row in providers if row.holds and row.service_type == service_type and row.name != name),
        None,
    )
    if holder and not holder.expired:
        raise ServiceTypeTaken(
            f"service type '{service_type}' is already served by provider '{holder.name}'",
            holder={"id": holder.provider_id, "name": holder.name},
        )
    return Placement(same, holder)
