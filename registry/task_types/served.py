"""Store the task types that agents serve, and count the agents that serve each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Count, Q

from controlplane.identity.callers import Caller
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
    by_version: Any = rows.values("name", "version").annotate(**_agents())
    for row in by_version.order_by("name", "version"):
        counted = by_name[row["name"]]
        counted["versions"].append(row["version"])
        counted |= {"agents": row["agents"], "live_agents": row["live_agents"]}
    several = [name for name, counted in by_name.items() if len(counted["versions"]) > 1]
    by_several: Any = rows.filter(name__in=several).values("name").annotate(**_agents(distinct=True))
    for row in by_several if several else ():
        by_name[row["name"]] |= row
    return by_name


def _agents(*, distinct: bool = False) -> dict[str, Count]:
    live = Q(agent__state__in=[state.value for state in LIVE])
    return {
        "agents": Count("agent", distinct=distinct),
        "live_agents": Count("agent", distinct=distinct, filter=live),
    }
