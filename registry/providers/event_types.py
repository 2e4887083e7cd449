"""Events of service providers."""

from __future__ import annotations

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, EventType, register
from controlplane.identity.roles import Action
from registry.providers.health import Health

declare_audience("provider", Action.AGENT_READ)

_PROVIDER: dict[str, Any] = {
    "agent_id": TEXT,
    "agent": TEXT,
    "environment": TEXT,
    "provider_id": TEXT,
    "name": TEXT,
    "service_type": TEXT,
}
_PROVIDER_MOVE: dict[str, Any] = {**_PROVIDER, "from": TEXT, "reason": TEXT}
PROVIDER_REGISTERED = register("provider.registered", "A service provider was registered.", **_PROVIDER)
PROVIDER_CHANGED = register(
    "provider.changed", "The registration of a service provider changed.", **_PROVIDER
)
PROVIDER_REMOVED = register("provider.removed", "A service provider was removed.", **_PROVIDER)
PROVIDER_EXPIRED = register(
    "provider.expired", "The lease of a service provider expired without a report.", **_PROVIDER_MOVE
)
BY_HEALTH: dict[Health, EventType] = {
    Health.READY: register("provider.ready", "A service provider became ready for work.", **_PROVIDER_MOVE),
    Health.UNHEALTHY: register(
        "provider.unhealthy",
        "A service provider responds but reports that it is unhealthy.",
        **_PROVIDER_MOVE,
    ),
    Health.UNAVAILABLE: register(
        "provider.unavailable",
        "A service provider does not respond; its service type is no longer advertised.",
        **_PROVIDER_MOVE,
    ),
}
