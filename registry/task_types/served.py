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
    live = Q(agent__state__in=[state.value for state in LIVE])
    rows = ServedTaskType.objects.within(caller).filter(name__in=names)
    counts = rows.values("name").annotate(
        agents=Count("agent", distinct=True), live_agents=Count("agent", distinct=True, filter=live)
    )
    by_name: dict[str, dict[str, Any]] = {
        name: {"name": name, "versions": [], "agents": 0, "live_agents": 0} for name in names
    }
    for row in counts:
        by_name[row["name"]].update(row)
    versions = rows.values_list("name", "version").distinct()
    for name, version in versions.order_by("name", "version"):
        by_name[name]["versions"].append(version)
    return by_name
