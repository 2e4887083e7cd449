"""Agents as the pages count and filter them."""

from __future__ import annotations

from django.db.models import Count, Q

from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.querysets import late
from registry.agents.states import State

LATE = "late"
CHOICES = [*(state.value for state in State), LATE]


def counts() -> dict[str, int]:
    """Agents by state. The late ones are live, so they are counted there too."""
    told = {choice: Count("pk", filter=_in_state(choice)) for choice in CHOICES}
    found: dict[str, int] = Agent.objects.aggregate(**told)
    return found


def _in_state(choice: str) -> Q:
    if choice == LATE:
        return late(liveness_policy().interval)
    return Q(state=choice) if choice in CHOICES else Q(pk__in=[])
