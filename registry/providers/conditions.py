"""Conditions of an agent's service types: what each provider's health means for the type it serves. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from registry.providers.health import Health


@dataclass(frozen=True, slots=True)
class Serving:
    """A provider as its type sees it. holds: False once its lease has run out."""

    service_type: str
    name: str
    state: Health
    holds: bool
    reason: str
    since: datetime


def type_conditions(providers: Iterable[Serving]) -> list[dict[str, Any]]:
    """One for each type that has, or had, a provider: of the holder, or else of the last that held it."""
    deciding: dict[str, Serving] = {}
    for one in sorted(providers, key=lambda one: (one.holds, one.since)):
        deciding[one.service_type] = one
    return [_condition(deciding[name]) for name in sorted(deciding)]


def advertised(service_types: Sequence[str], conditions: Iterable[Mapping[str, Any]]) -> list[str]:
    """The types that work may be sent for. Without a provider of ours, a type is as the agent says."""
    withheld = {one["service_type"] for one in conditions if one["status"] == Health.UNAVAILABLE}
    return [name for name in service_types if name not in withheld]


def _condition(one: Serving) -> dict[str, Any]:
    return {
        "service_type": one.service_type,
        "status": one.state.value,
        "provider": one.name,
        "reason": one.reason,
        "since": one.since.isoformat(),
    }
