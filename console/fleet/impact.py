"""Impact on an environment if one agent stops taking work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from controlplane.identity.callers import Caller
from registry.agents.models import Agent
from registry.agents.states import State
from registry.task_types.models import ServedTaskType

_TAKE_WORK = (State.READY.value, State.CONGESTED.value)


@dataclass(frozen=True, slots=True)
class Impact:
    """Impact of losing an agent.

    other_agents: working agents of its environment. only_here, tasks_only_here: types that only it serves.
    """

    environment: str
    lag: int
    other_agents: int
    only_here: tuple[str, ...]
    tasks_only_here: tuple[str, ...]


def load_impact(agent: Agent, caller: Caller) -> Impact:
    """Return the impact on the caller's agents."""
    types = list(agent.service_types)
    others = Agent.objects.within(caller).exclude(pk=agent.pk)
    working = others.filter(environment=agent.environment, state__in=_TAKE_WORK)
    counts: Any = {
        f"type_{index}": Count("pk", filter=Q(service_types__contains=[name]))
        for index, name in enumerate(types)
    }
    counted = working.aggregate(other_agents=Count("pk"), **counts)
    only_here = tuple(name for index, name in enumerate(types) if not counted[f"type_{index}"])
    names = sorted({task_type["name"] for task_type in agent.task_types})
    served = ServedTaskType.objects.within(caller).filter(name__in=names, agent__state__in=_TAKE_WORK)
    elsewhere = set(served.exclude(agent_id=agent.pk).values_list("name", flat=True))
    task_types = tuple(name for name in names if name not in elsewhere)
    return Impact(agent.environment, agent.lease.consumer_lag, counted["other_agents"], only_here, task_types)


def describe_impact(impact: Impact) -> tuple[str, ...]:
    """Describe the impact for an operator, in sentences."""
    workers = (
        "1 other agent takes" if impact.other_agents == 1 else f"{impact.other_agents} other agents take"
    )
    lines = [f"In {impact.environment}, {workers} work."]
    if impact.lag:
        lines.append(f"Unread messages of this agent: {impact.lag}.")
    if impact.only_here:
        lines.append(f"Service types that no other agent there provides: {', '.join(impact.only_here)}.")
    if impact.tasks_only_here:
        lines.append(f"Task types that no other working agent serves: {', '.join(impact.tasks_only_here)}.")
    if not (impact.only_here or impact.tasks_only_here):
        lines.append("Other agents serve all of its service types and task types.")
    return tuple(lines)
