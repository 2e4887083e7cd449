"""Events of agents."""

from __future__ import annotations

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER_OR_NULL, TEXT, EventType, register
from controlplane.identity.roles import Action
from registry.agents.states import State

declare_audience("agent", Action.AGENT_READ)

_AGENT: dict[str, Any] = {"agent_id": TEXT, "name": TEXT, "environment": TEXT}

_MOVE: dict[str, Any] = {**_AGENT, "from": TEXT, "reason": TEXT}
AGENT_REGISTERED = register("agent.registered", "A new agent registered.", **_AGENT)
AGENT_CHANGED = register("agent.changed", "An agent registered again with changes.", **_AGENT)
BY_STATE: dict[State, EventType] = {
    State.READY: register("agent.ready", "An agent can accept work again.", **_MOVE),
    State.CONGESTED: register("agent.congested", "An agent has too many unread messages.", **_MOVE),
    State.UNAVAILABLE: register(
        "agent.unavailable", "An agent's lease expired without a heartbeat.", **_MOVE
    ),
    State.REGISTERED: register("agent.waiting", "An agent joined and is waiting for approval.", **_MOVE),
    State.DRAINING: register("agent.draining", "An agent finishes its work and gets no more.", **_MOVE),
    State.RETIRED: register("agent.retired", "An agent deregistered or was retired.", **_MOVE),
    State.UNKNOWN: register("agent.unknown", "An agent fell silent together with too many others.", **_MOVE),
}
AGENT_REMOVED = register("agent.removed", "An agent's record was removed.", **_AGENT)


# Once for each wait, so that an agent that keeps returning is one alert and not many.
AGENT_FLAPPING = register(
    "agent.flapping",
    "An agent returned too often and must first send heartbeats for a while.",
    **_AGENT,
    reason=TEXT,
)
# An alert: an operator should stop one of the two processes.
AGENT_DUPLICATED = register(
    "agent.duplicated",
    "Two processes use the name and credential of one agent; the second is refused.",
    **_AGENT,
    instance_uuid=TEXT,
    refused_instance_uuid=TEXT,
)


AGENT_LEASE_CHANGED = register(
    "agent.lease_changed",
    "The lease of an agent was set or reset to its environment's.",
    **_AGENT,
    lease_seconds=INTEGER_OR_NULL,
)
# Two events, so that each team learns of its side alone.
AGENT_GIVEN_AWAY = register(
    "agent.given_away", "An agent moved to another team, or to the platform.", **_AGENT
)
AGENT_TAKEN_OVER = register(
    "agent.taken_over", "An agent of another team, or of the platform, moved here.", **_AGENT
)
AGENT_ROTATED = register("agent.rotated", "An agent's credential was rotated.", **_AGENT)
AGENT_TOKENS_REVOKED = register("agent.tokens_revoked", "All tokens of an agent were revoked.", **_AGENT)
