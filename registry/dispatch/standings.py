"""How the agents of assignments can be reached now: from their states, and from the fleet guards."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q

from registry.agents.models import Agent
from registry.agents.states import State
from registry.dispatch.lifecycle.timers import AgentStanding
from registry.environments.evidence import WHOLE_FLEET
from registry.environments.models import Environment

_BY_STATE = {
    State.UNAVAILABLE: AgentStanding.SILENT,
    State.UNKNOWN: AgentStanding.GUARDED,
    State.RETIRED: AgentStanding.GONE,
}


def standings_of(agent_ids: Collection[UUID]) -> dict[UUID, AgentStanding]:
    """Return the standing of each agent; one that was removed is GONE."""
    guarded = _guarded_environments()
    standings = dict.fromkeys(agent_ids, AgentStanding.GONE)
    for agent_id, state, environment in Agent.objects.filter(id__in=agent_ids).values_list(
        "id", "state", "environment"
    ):
        standing = _BY_STATE.get(State(state), AgentStanding.HEARD)
        is_guarded = WHOLE_FLEET in guarded or environment in guarded
        if is_guarded and standing is not AgentStanding.GONE:
            standing = AgentStanding.GUARDED
        standings[agent_id] = standing
    return standings


def _guarded_environments() -> frozenset[str]:
    engaged = Environment.objects.filter(~Q(guard_engaged_at=None))
    return frozenset(engaged.values_list("name", flat=True))
