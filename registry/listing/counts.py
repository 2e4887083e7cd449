"""Counts of agents by environment and state: never counted over, however large the fleet."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection, transaction
from django.db.models import Sum

from registry.agents.models import AgentTally
from registry.agents.states import State


def agent_counts() -> dict[str, dict[State, int]]:
    """By environment, then by state; only what is not zero."""
    found: dict[str, dict[State, int]] = {}
    rows = AgentTally.objects.values_list("environment", "state").annotate(count=Sum("step"))
    for environment, state, count in rows.order_by("environment", "state"):
        if count:
            found.setdefault(environment, {})[State(state)] = count
    return found


def total(by_environment: Mapping[str, Mapping[State, int]]) -> dict[State, int]:
    return {state: sum(one.get(state, 0) for one in by_environment.values()) for state in State}


def registered(states: Mapping[State, int]) -> int:
    """How many agents there are; the retired ones have left."""
    return sum(count for state, count in states.items() if state is not State.RETIRED)


def silent(states: Mapping[State, int]) -> int:
    """How many agents do not report."""
    return states.get(State.UNKNOWN, 0) + states.get(State.UNAVAILABLE, 0)


@transaction.atomic
def fold() -> None:
    """Put the steps together, so that they stay few. Writers do not wait; two folds do no harm."""
    with connection.cursor() as cursor:
        cursor.execute(_FOLD)


_FOLD = """
WITH taken AS (
    DELETE FROM registry_agenttally
    WHERE id IN (SELECT id FROM registry_agenttally FOR UPDATE SKIP LOCKED)
    RETURNING environment, state, step
)
INSERT INTO registry_agenttally (environment, state, step)
SELECT environment, state, sum(step) FROM taken GROUP BY environment, state HAVING sum(step) <> 0
"""
