"""Counts of agents by state, including late ones."""

from __future__ import annotations

from django.db.models import Count, Q

from controlplane.identity.callers import Caller
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.querysets import late
from registry.agents.states import State

LATE = "late"
CHOICES = [*(state.value for state in State), LATE]


def counts(caller: Caller) -> dict[str, int]:
    """Return the caller's agents by state. Late agents are live, so they are also counted in their state."""
    aggregates = {choice: Count("pk", filter=_in_state(choice)) for choice in CHOICES}
    counted: dict[str, int] = Agent.objects.within(caller).aggregate(**aggregates)
    return counted


def _in_state(choice: str) -> Q:
    if choice == LATE:
        return late(liveness_policy().interval)
    return Q(state=choice) if choice in CHOICES else Q(pk__in=[])
