"""Environments and fleet guards as a caller may see them.

A caller limited to teams sees the environments of its agents. Guards count the agents of all teams, so their
counts and reasons are replaced by those of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db.models import Max, QuerySet

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.models import Agent
from registry.agents.states import State
from registry.environments.guarding import is_engaged
from registry.environments.models import Environment
from registry.listing.counts import agent_counts, registered_count, silent_count

_REASON = "Too many agents of the environment are silent."


def sees_all_agents(caller: Caller) -> bool:
    return caller.owners_for(Action.AGENT_READ).everything


def visible_environments(caller: Caller) -> QuerySet[Environment]:
    """Return the environments of the caller's agents; with the whole fleet for a caller without limits."""
    if sees_all_agents(caller):
        return Environment.objects.all()
    return Environment.objects.filter(name__in=Agent.objects.within(caller).values("environment"))


def conceal_other_teams(environments: Iterable[Environment], caller: Caller) -> None:
    """Replace what reveals other teams' agents, in these objects and not in the database."""
    if sees_all_agents(caller):
        return
    heard, counts = _last_heard(caller), agent_counts(caller)
    for environment in environments:
        _conceal(environment, counts.get(environment.name, {}), heard.get(environment.name))


def _conceal(environment: Environment, states: Mapping[State, int], heard_at: datetime | None) -> None:
    environment.guard_due_count = silent_count(states)
    environment.guard_agent_count = registered_count(states)
    environment.guard_reason = _REASON if is_engaged(environment) else ""
    environment.guard_mode_set_by = ""
    environment.heard_at = heard_at


def _last_heard(caller: Caller) -> dict[str, datetime]:
    """Return the last heartbeat of the caller's agents by environment."""
    rows = Agent.objects.within(caller).values("environment").annotate(heard_at=Max("lease__renewed_at"))
    return {row["environment"]: row["heard_at"] for row in rows}
