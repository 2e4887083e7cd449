"""Follow what agents say of the task types that they serve."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from registry.models import ServedTaskType
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
