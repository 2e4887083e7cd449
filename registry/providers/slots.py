"""One provider for each service type of an agent: who may register as what. Pure.

The table is DCM's (environment-agents.md 2.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.errors import NameTaken, ServiceTypeTaken


@dataclass(frozen=True, slots=True)
class Known:
    """A provider of the agent. holds: it has its service type. expired: its lease has run out."""

    provider_id: str
    name: str
    service_type: str
    holds: bool
    expired: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """same: the provider that registers again; None for a new one. released: who loses the type by it."""

    same: Known | None
    released: Known | None


def place(name: str, wanted_id: str | None, service_type: str, known: Sequence[Known]) -> Placed:
    """Say what a registration does. Raises NameTaken and ServiceTypeTaken."""
    same = next((one for one in known if one.name == name), None)
    if same and wanted_id not in (None, same.provider_id):
        raise NameTaken(f"The provider {name!r} has the id {same.provider_id!r}, not {wanted_id!r}.")
    other = next((one for one in known if one.provider_id == wanted_id and one.name != name), None)
    if other:
        raise NameTaken(f"The id {wanted_id!r} belongs to the provider {other.name!r}.")
    holder = next(
        (one for one in known if one.holds and one.service_type == service_type and one.name != name), None
    )
    if holder and not holder.expired:
        raise ServiceTypeTaken(
            f"service type '{service_type}' is already served by provider '{holder.name}'",
            holder={"id": holder.provider_id, "name": holder.name},
        )
    return Placed(same, holder)
