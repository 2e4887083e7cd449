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


# An alert: somebody should stop one of the two.
AGENT_DUPLICATED = register(
    "agent.duplicated",
    "Two processes use the name and credential of one agent; the second is refused.",
    **_AGENT,
    instance_uuid=TEXT,
    refused_instance_uuid=TEXT,
)


AGENT_LEASE_CHANGED = register(
    "agent.lease_changed",
    "The lease of one agent was set, or follows its environment again.",
    **_AGENT,
    lease_seconds=INTEGER_OR_NULL,
)
AGENT_ROTATED = register("agent.rotated", "An agent got a new credential.", **_AGENT)
