"""Counts of agents by environment and state, maintained incrementally: cheap for any fleet size."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection, transaction
from django.db.models import Sum

from registry.agents.models import AgentTally
from registry.agents.states import State


def agent_counts() -> dict[str, dict[State, int]]:
    """Return counts by environment, then by state; without zeros."""
    by_environment: dict[str, dict[State, int]] = {}
    rows = AgentTally.objects.values_list("environment", "state").annotate(count=Sum("step"))
    for environment, state, count in rows.order_by("environment", "state"):
        if count:
            by_environment.setdefault(environment, {})[State(state)] = count
    return by_environment


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
