"""Move agents from state to state: compare-and-set, so that whoever moved the row owns the event."""

from __future__ import annotations

from django.db.models.functions import Now

from controlplane.events import log
from registry.agents.event_types import BY_STATE
from registry.agents.models import Agent
from registry.agents.states import TRANSITIONS, State


def move(agent: Agent, new: State, *, reason: str, actor: str, request_id: str = "") -> bool:
    """Change the state if it still is what we saw, and say so. Needs a transaction; True if it moved."""
    old = State(agent.state)
    if new == old:
        return False
    if new not in TRANSITIONS[old]:
        raise ValueError(f"an agent cannot go from {old} to {new}")
    moved = Agent.objects.filter(id=agent.id, state=old.value).update(
        state=new.value, state_reason=reason, state_since=Now()
    )
    if not moved:
        return False
    agent.state, agent.state_reason = new.value, reason
    log.append(
        BY_STATE[new],
        "agent",
        str(agent.id),
        data={
            "agent_id": str(agent.id),
            "name": agent.name,
            "environment": agent.environment,
            "from": old.value,
            "reason": reason,
        },
        actor=actor,
        request_id=request_id,
    )
    return True
