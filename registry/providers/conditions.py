"""Conditions of an agent's service types, derived from the health of their providers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from registry.providers.health import Health


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """Status of the provider of a service type. holds: False once its lease has expired."""

    service_type: str
    name: str
    state: Health
    holds: bool
    reason: str
    since: datetime


def type_conditions(providers: Iterable[ProviderStatus]) -> list[dict[str, Any]]:
    """Return one condition per service type: that of its provider, or else of the last one that held it."""
    latest: dict[str, ProviderStatus] = {}
    for status in sorted(providers, key=lambda status: (status.holds, status.since)):
        latest[status.service_type] = status
    return [_condition(latest[name]) for name in sorted(latest)]


def advertised(service_types: Sequence[str], conditions: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the service types that can be sent work; one without a registered provider always can."""
    withheld = {row["service_type"] for row in conditions if row["status"] == Health.UNAVAILABLE}
    return [name for name in service_types if name not in withheld]


def _condition(provider: ProviderStatus) -> dict[str, Any]:
    return {
        "service_type": provider.service_type,
        "status": provider.state.value,
        "provider": provider.name,
        "reason": provider.reason,
        "since": provider.since.isoformat(),
    }
