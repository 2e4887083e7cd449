"""Counts of agents by environment and state, maintained incrementally: cheap for any fleet size.

Only those of a team's agents are counted at each request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, QuerySet, Sum

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.models import Agent, AgentTally
from registry.agents.states import State


def agent_counts(caller: Caller) -> dict[str, dict[State, int]]:
    """Return counts of the caller's agents by environment, then by state; without zeros."""
    by_environment: dict[str, dict[State, int]] = {}
    rows = _counts(caller)
    for environment, state, count in rows.order_by("environment", "state"):
        if count:
            by_environment.setdefault(environment, {})[State(state)] = count
    return by_environment


def _counts(caller: Caller) -> QuerySet[Any, Any]:
    if caller.owners_for(Action.AGENT_READ).everything:
        return AgentTally.objects.values_list("environment", "state").annotate(count=Sum("step"))
    agents = Agent.objects.within(caller)
    return agents.values_list("environment", "state").annotate(count=Count("id"))


def total(by_environment: Mapping[str, Mapping[State, int]]) -> dict[State, int]:
    return {state: sum(states.get(state, 0) for states in by_environment.values()) for state in State}


def registered_count(states: Mapping[State, int]) -> int:
    """Return the number of agents that are not retired."""
    return sum(count for state, count in states.items() if state is not State.RETIRED)


def silent_count(states: Mapping[State, int]) -> int:
    """Return the number of agents whose lease has expired."""
    return states.get(State.UNKNOWN, 0) + states.get(State.UNAVAILABLE, 0)


@transaction.atomic
def compact() -> None:
    """Merge the steps of each count into one row. Does not block writers; safe to run twice at once."""
    with connection.cursor() as cursor:
        cursor.execute(_COMPACT)


_COMPACT = """
WITH steps AS (
    DELETE FROM registry_agenttally
    WHERE id IN (SELECT id FROM registry_agenttally FOR UPDATE SKIP LOCKED)
    RETURNING environment, state, step
)
INSERT INTO registry_agenttally (environment, state, step)
SELECT environment, state, sum(step) FROM steps GROUP BY environment, state HAVING sum(step) <> 0
"""
