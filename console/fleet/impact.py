"""What it means for an environment if one agent takes no more work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from registry.agents.models import Agent
from registry.agents.states import State
from registry.task_types.models import ServedTaskType

_TAKE_WORK = (State.READY.value, State.CONGESTED.value)


@dataclass(frozen=True, slots=True)
class Standing:
    """others: agents of its environment that take work too. alone, tasks_alone: what nobody else serves."""

    environment: str
    lag: int
    others: int
    alone: tuple[str, ...]
    tasks_alone: tuple[str, ...]


def standing(agent: Agent) -> Standing:
    types = list(agent.service_types)
    working = Agent.objects.filter(environment=agent.environment, state__in=_TAKE_WORK).exclude(pk=agent.pk)
    wanted: Any = {
        f"type_{index}": Count("pk", filter=Q(service_types__contains=[name]))
        for index, name in enumerate(types)
    }
    counted = working.aggregate(others=Count("pk"), **wanted)
    alone = tuple(name for index, name in enumerate(types) if not counted[f"type_{index}"])
    names = sorted({one["name"] for one in agent.task_types})
    served = ServedTaskType.objects.filter(name__in=names, agent__state__in=_TAKE_WORK)
    elsewhere = set(served.exclude(agent_id=agent.pk).values_list("name", flat=True))
    tasks = tuple(name for name in names if name not in elsewhere)
    return Standing(agent.environment, agent.lease.consumer_lag, counted["others"], alone, tasks)


def in_words(found: Standing) -> tuple[str, ...]:
    """Pure: what an operator should know before work is taken away from it."""
    others = "1 other agent takes" if found.others == 1 else f"{found.others} other agents take"
    said = [f"In {found.environment} {others} work."]
    if found.lag:
        said.append(f"{found.lag} messages wait for it unread.")
    if found.alone:
        said.append(f"Nobody else there provides: {', '.join(found.alone)}.")
    if found.tasks_alone:
        said.append(f"No other agent that takes work serves the task types: {', '.join(found.tasks_alone)}.")
    if not (found.alone or found.tasks_alone):
        said.append("Everything that it serves is served by others as well.")
    return tuple(said)
