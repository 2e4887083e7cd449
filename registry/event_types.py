"""The facts that the registry announces."""

from typing import Any

from controlplane.events.types import EventType, register
from registry.agents.states import State
from registry.providers.health import Health

_TEXT: dict[str, Any] = {"type": "string"}
_AGENT: dict[str, Any] = {"agent_id": _TEXT, "name": _TEXT, "environment": _TEXT}
_MOVE: dict[str, Any] = {**_AGENT, "from": _TEXT, "reason": _TEXT}

_WHOLE: dict[str, Any] = {"type": "integer"}
_GUARD: dict[str, Any] = {"environment": _TEXT, "silent": _WHOLE, "agents": _WHOLE, "reason": _TEXT}

AGENT_REGISTERED = register("agent.registered", "An agent is known now.", **_AGENT)
AGENT_CHANGED = register("agent.changed", "An agent registered again, with other facts.", **_AGENT)
BY_STATE: dict[State, EventType] = {
    State.READY: register("agent.ready", "An agent can take work again.", **_MOVE),
    State.CONGESTED: register("agent.congested", "An agent has more unread work than it should.", **_MOVE),
    State.UNAVAILABLE: register("agent.unavailable", "An agent was silent until its lease ran out.", **_MOVE),
    State.REGISTERED: register("agent.waiting", "An agent joined and waits for approval.", **_MOVE),
    State.DRAINING: register("agent.draining", "An agent gets no more work.", **_MOVE),
    State.RETIRED: register("agent.retired", "An agent said goodbye, or was sent away.", **_MOVE),
    State.UNKNOWN: register("agent.unknown", "An agent fell silent with too many others.", **_MOVE),
}
AGENT_REMOVED = register("agent.removed", "An agent's record is gone.", **_AGENT)
AGENT_ROTATED = register("agent.rotated", "An agent got a new credential.", **_AGENT)
_JOIN_TOKEN: dict[str, Any] = {"join_token_id": _TEXT, "name": _TEXT}
JOIN_TOKEN_MADE = register("join_token.created", "A join token was made.", **_JOIN_TOKEN)
JOIN_TOKEN_REVOKED = register("join_token.revoked", "A join token lets nobody in any more.", **_JOIN_TOKEN)
# Alerts: one for each environment, or the fleet (an empty one), however many agents are silent.
GUARD_ENGAGED = register("fleet_guard.engaged", "Too many agents fell silent at once.", **_GUARD)
GUARD_LIFTED = register("fleet_guard.lifted", "Silent agents count as unavailable again.", **_GUARD)
GUARD_OVERRULED = register(
    "fleet_guard.overruled",
    "An operator took the guard into their own hands, or gave it back.",
    environment=_TEXT,
    ruling=_TEXT,
)

_PROVIDER: dict[str, Any] = {
    "agent_id": _TEXT,
    "agent": _TEXT,
    "environment": _TEXT,
    "provider_id": _TEXT,
    "name": _TEXT,
    "service_type": _TEXT,
}
_PROVIDER_MOVE: dict[str, Any] = {**_PROVIDER, "from": _TEXT, "reason": _TEXT}
PROVIDER_REGISTERED = register("provider.registered", "An agent has a service provider more.", **_PROVIDER)
PROVIDER_CHANGED = register(
    "provider.changed", "A service provider registered with other facts.", **_PROVIDER
)
PROVIDER_REMOVED = register("provider.removed", "A service provider was taken away.", **_PROVIDER)
PROVIDER_EXPIRED = register(
    "provider.expired", "A service provider was not named until its lease ran out.", **_PROVIDER_MOVE
)
BY_HEALTH: dict[Health, EventType] = {
    Health.READY: register("provider.ready", "A service provider takes work.", **_PROVIDER_MOVE),
    Health.UNHEALTHY: register(
        "provider.unhealthy", "A service provider answers, and takes no work.", **_PROVIDER_MOVE
    ),
    Health.UNAVAILABLE: register(
        "provider.unavailable", "A service provider does not answer; its type is withheld.", **_PROVIDER_MOVE
    ),
}
