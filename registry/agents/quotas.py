"""The quota of agents: records of agents, whatever their state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

from controlplane.access.team_models import Team
from controlplane.pools.quota_rules import Added, Countable, Owner, declare
from controlplane.pools.quotas import check

_ROWS = """
SELECT team.slug AS owner, '' AS domain, '' AS project, '' AS workflow, '' AS launch_plan,
       1 AS units
  FROM registry_agent AS agent LEFT JOIN access_team AS team ON team.id = agent.team_id
"""
AGENTS = declare(
    Countable("agents", "agents", _ROWS, "Remove agents that are retired.", "agent", Owner.TEAM),
)


def check_new_agents(team_ids: Iterable[UUID | None]) -> None:
    """Raise QuotaExceeded if there are too many agents now. Call after the insertion.

    team_ids: of each new agent.
    """
    counts = Counter(team_ids)
    slugs = dict(Team.objects.filter(id__in=[team for team in counts if team]).values_list("id", "slug"))
    check(AGENTS, [Added(slugs[team] if team else "", units=count) for team, count in counts.items()])
