"""Follow what agents say of the task types that they serve, and count who serves which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Count, Q

from registry.agents.states import LIVE
from registry.task_types.models import ServedTaskType
from registry.task_types.names import TaskType


def follow_task_types(agent_id: UUID, served: Sequence[TaskType]) -> None:
    """Keep what stays, with its date; add and remove the rest. Needs a transaction that holds the agent."""
    now = {TaskType(name, version): id for id, name, version in _stored(agent_id)}
    gone = [now[one] for one in now.keys() - set(served)]
    new = [one for one in dict.fromkeys(served) if one not in now]
    if gone:
        ServedTaskType.objects.filter(id__in=gone).delete()
    ServedTaskType.objects.bulk_create(
        [ServedTaskType(agent_id=agent_id, name=one.name, version=one.version) for one in new]
    )


def _stored(agent_id: UUID) -> list[tuple[int, str, str]]:
    return list(ServedTaskType.objects.filter(agent_id=agent_id).values_list("id", "name", "version"))


def counted(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """By task type: its versions, how many agents serve any of them, how many of those are live."""
    live = Q(agent__state__in=[state.value for state in LIVE])
    rows = ServedTaskType.objects.filter(name__in=names).values("name")
    counts = rows.annotate(
        agents=Count("agent", distinct=True), live_agents=Count("agent", distinct=True, filter=live)
    )
    found: dict[str, dict[str, Any]] = {
        name: {"name": name, "versions": [], "agents": 0, "live_agents": 0} for name in names
    }
    for row in counts:
        found[row["name"]].update(row)
    versions = ServedTaskType.objects.filter(name__in=names).values_list("name", "version").distinct()
    for name, version in versions.order_by("name", "version"):
        found[name]["versions"].append(version)
    return found
