"""Task types that would lose their last agent that takes work, by environment.

Agents of the same owner count, and those of the platform: agents of other teams do not serve the team.
"""

from __future__ import annotations

from uuid import UUID

from django.db import connection
from django.db.models import Q

from registry.agents.models import Agent
from registry.bulk_changes.decisions import TAKE_WORK, LastAgents, lost_task_types
from registry.task_types.models import ServedTaskType

_STATES = [state.value for state in TAKE_WORK]


def lost_with(agent: Agent) -> LastAgents | None:
    """Return what would be lost without the agent; None if it takes no work, or others serve the same."""
    if agent.state not in _STATES:
        return None
    served = set(ServedTaskType.objects.filter(agent_id=agent.id).values_list("name", flat=True))
    others = ServedTaskType.objects.filter(
        Q(agent__team_id=agent.team_id) | Q(agent__team_id=None),
        name__in=served,
        agent__environment=agent.environment,
        agent__state__in=_STATES,
    ).exclude(agent_id=agent.id)
    lost = lost_task_types(served, set(others.values_list("name", flat=True)))
    return LastAgents(agent.environment, lost) if lost else None


def lost_with_all(agent_ids: list[UUID], most: int) -> list[tuple[str, str]]:
    """Return at most so many pairs of environment and task type that would be lost without the agents."""
    with connection.cursor() as cursor:
        cursor.execute(_LOST, {"ids": agent_ids, "states": _STATES, "most": most})
        return list(cursor.fetchall())


def lock_environment(environment: str) -> None:
    """Let one bulk change at a time count the environment's agents, until the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('bulk change of ' || %s, 0))", [environment]
        )


_LOST = """
WITH taken AS (SELECT unnest(%(ids)s::uuid[]) AS id)
SELECT DISTINCT agent.environment, served.name
FROM taken JOIN registry_agent AS agent ON agent.id = taken.id AND agent.state = ANY(%(states)s)
JOIN registry_servedtasktype AS served ON served.agent_id = agent.id
WHERE NOT EXISTS (
    SELECT FROM registry_servedtasktype AS other JOIN registry_agent AS keeper ON keeper.id = other.agent_id
    WHERE other.name = served.name AND keeper.environment = agent.environment
      AND keeper.state = ANY(%(states)s)
      AND (keeper.team_id IS NULL OR keeper.team_id IS NOT DISTINCT FROM agent.team_id)
      AND NOT EXISTS (SELECT FROM taken AS gone WHERE gone.id = keeper.id)
)
ORDER BY 1, 2 LIMIT %(most)s
"""
