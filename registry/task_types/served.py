"""Store the task types that agents serve, and count the agents that serve each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce

from controlplane.identity.callers import Caller
from registry.agents.models import AgentTally
from registry.agents.states import LIVE
from registry.task_types.models import ServedTaskType
from registry.task_types.names import TaskType


def store_task_types(agent_id: UUID, served: Sequence[TaskType]) -> None:
    """Add and remove task types, keep unchanged ones. Requires a transaction that locks the agent."""
    stored = {TaskType(name, version): id for id, name, version in _stored(agent_id)}
    gone = [stored[task_type] for task_type in stored.keys() - set(served)]
    new = [task_type for task_type in dict.fromkeys(served) if task_type not in stored]
    if gone:
        ServedTaskType.objects.filter(id__in=gone).delete()
    ServedTaskType.objects.bulk_create(
        [ServedTaskType(agent_id=agent_id, name=row.name, version=row.version) for row in new]
    )


def _stored(agent_id: UUID) -> list[tuple[int, str, str]]:
    return list(ServedTaskType.objects.filter(agent_id=agent_id).values_list("id", "name", "version"))


def count_by_name(names: Sequence[str], caller: Caller) -> dict[str, dict[str, Any]]:
    """Return by task type: its versions, the caller's agents that serve any, and the live ones among them."""
    rows = ServedTaskType.objects.within(caller).filter(name__in=names)
    by_name: dict[str, dict[str, Any]] = {
        name: {"name": name, "versions": [], "agents": 0, "live_agents": 0} for name in names
    }
    # Within one version no agent is counted twice, so that nothing must be sorted.
    live = _live_by_version(rows)
    agents: Any = rows.values_list("name", "version").annotate(agents=Count("agent_id"))
    for name, version, count in agents.order_by("name", "version"):
        by_name[name]["versions"].append(version)
        by_name[name] |= {"agents": count, "live_agents": live(name, version, count)}
    several = [name for name, counted in by_name.items() if len(counted["versions"]) > 1]
    by_several: Any = rows.filter(name__in=several).values("name").annotate(**_DISTINCT_AGENTS)
    for row in by_several if several else ():
        by_name[row["name"]] |= row
    return by_name


_LIVE = Q(agent__state__in=[state.value for state in LIVE])
_DISTINCT_AGENTS = {
    "agents": Count("agent", distinct=True),
    "live_agents": Count("agent", distinct=True, filter=_LIVE),
}


def _live_by_version(rows: Any) -> Callable[[str, str, int], int]:
    """Return what gives the live agents of a task type and version, of as many agents in all.

    Only live agents are joined, or only the others, whichever are fewer: the join of all agents is
    what takes long in a large fleet.
    """
    tallies = AgentTally.objects.aggregate(
        live=Coalesce(Sum("step", filter=Q(state__in=[*LIVE])), 0), agents=Coalesce(Sum("step"), 0)
    )
    are_most_live = 2 * tallies["live"] > tallies["agents"]
    joined = rows.filter(~_LIVE if are_most_live else _LIVE).values_list("name", "version")
    by_version: Any = joined.annotate(count=Count("agent_id"))
    counts: dict[tuple[str, str], int] = {(name, version): count for name, version, count in by_version}

    def live(name: str, version: str, agents: int) -> int:
        count = counts.get((name, version), 0)
        return agents - count if are_most_live else count

    return live
