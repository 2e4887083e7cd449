"""Versions that agents report of themselves: how many run each, and how far each is behind the newest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from django.db import connection

from controlplane.identity.callers import Caller
from registry.agents.models import Agent
from registry.agents.states import LIVE, State

_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)(.*)", re.DOTALL)
# Components and versions are texts of agents. More are not shown: a fleet has few.
_MOST_ROWS = 500


@dataclass(frozen=True, slots=True)
class VersionCount:
    """component: such as `agent` or `sdk`. live_agents: those that send heartbeats."""

    component: str
    version: str
    agents: int
    live_agents: int


@dataclass(frozen=True, slots=True)
class RankedVersion:
    """behind: how many newer versions are in use. share: of the component's agents, 0 to 1."""

    count: VersionCount
    behind: int
    share: float

    @property
    def percent(self) -> str:
        return f"{self.share:.0%}".removesuffix("%")


def version_key(text: str) -> tuple[tuple[int, ...], bool, str]:
    """Return the sort key of a version such as `1.10.2` or `v2.0.0-rc1`, which precedes `2.0.0`."""
    match = _NUMBERS.fullmatch(text)
    if match is None:
        return (), False, text
    numbers = tuple(int(number) for number in match[1].split(".")[:8])
    return numbers, not match[2].startswith("-"), match[2]


def rank(counts: Iterable[VersionCount]) -> list[RankedVersion]:
    """Return the versions of each component, the newest first."""
    ranked: list[RankedVersion] = []
    for _, group in groupby(sorted(counts, key=lambda count: count.component), lambda count: count.component):
        versions = sorted(group, key=lambda count: version_key(count.version), reverse=True)
        total = sum(count.agents for count in versions)
        ranked += [RankedVersion(count, place, count.agents / total) for place, count in enumerate(versions)]
    return ranked


def versions_in_use(caller: Caller, environment: str = "") -> list[RankedVersion]:
    """Return the versions of the caller's agents that are not retired. Reads all of their reports."""
    agents = Agent.objects.within(caller).exclude(state=State.RETIRED.value)
    if environment:
        agents = agents.filter(environment=environment)
    sql, parameters = agents.values("id", "state").query.sql_with_params()
    with connection.cursor() as cursor:
        live = [state.value for state in LIVE]
        cursor.execute(_COUNT.format(agents=sql), [live, *parameters, _MOST_ROWS])
        return rank(VersionCount(*row) for row in cursor.fetchall())


_COUNT = """
SELECT entry.key, entry.value, count(*), count(*) FILTER (WHERE agent.state = ANY(%s))
FROM ({agents}) AS agent
JOIN registry_agentreport AS report ON report.agent_id = agent.id
CROSS JOIN jsonb_each_text(report.versions) AS entry
GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %s
"""
