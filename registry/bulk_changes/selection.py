"""The agents that a bulk change changes, and the impact of the change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats.counts import counted
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.states import State
from registry.bulk_changes.decisions import TAKING, AgentFacts, BulkAction, confirmation_of, obstacle
from registry.bulk_changes.last_agents import lost_with_all
from registry.dispatch.agent_work import unsettled_among
from registry.listing.search import search_agents

_MOST_SHOWN = 50


class SelectedAgent(NamedTuple):
    id: UUID
    name: str
    environment: str
    team_id: UUID | None
    state: str
    drain_reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """agents: that the action changes. unchanged: how many match, but the action does not change them.

    skipped: of these, the agents that were named by their ids, each with the reason.
    """

    agents: tuple[SelectedAgent, ...]
    unchanged: int
    skipped: tuple[tuple[SelectedAgent, str], ...] = ()


def select_agents(action: BulkAction, selector: Mapping[str, Any], caller: Caller) -> Selection:
    """Return the agents that match and that the caller may change.

    Raises InvalidRequest, also if an agent is named that does not match or that the caller may not change.
    """
    query = {name: value for name, value in selector.items() if name != "agent_ids"}
    named = selector.get("agent_ids", ())
    rows: Any = search_agents(query, caller).within(caller, Action.AGENT_WRITE)
    if named:
        rows = rows.filter(id__in=named)
    matching = [SelectedAgent(*row) for row in rows.order_by("name").values_list(*SelectedAgent._fields)]
    _refuse_missing(named, {agent.id for agent in matching})
    obstacles = [(agent, obstacle(action, _facts(agent))) for agent in matching]
    changed = tuple(agent for agent, reason in obstacles if not reason)
    skipped = tuple((agent, reason) for agent, reason in obstacles if reason and named)
    return Selection(changed, len(matching) - len(changed), skipped)


def _refuse_missing(named: Sequence[UUID], found: Collection[UUID]) -> None:
    message = "No agent with this id matches, or you may not change it. Remove the id."
    errors = [
        FieldError(f"/selector/agent_ids/{index}", "unknown_agent", message)
        for index, agent_id in enumerate(named)
        if agent_id not in found
    ]
    if errors:
        missing = counted(len(errors), "agent of the selector is", "agents of the selector are")
        raise InvalidRequest(f"{missing} not available. Nothing was changed.", errors=errors)


def describe(action: BulkAction, selection: Selection, *, is_filtered: bool) -> dict[str, Any]:
    """Return the impact as in the API. Lists are cut, counts are complete."""
    agents = selection.agents
    ids = [agent.id for agent in agents]
    lost = lost_with_all(ids, _MOST_SHOWN) if action in TAKING else []
    environments = Counter(agent.environment for agent in agents)
    return {
        "agents": len(agents),
        "unchanged": selection.unchanged,
        "by_state": dict(sorted(Counter(agent.state for agent in agents).items())),
        "environment_count": len(environments),
        "by_environment": dict(environments.most_common(_MOST_SHOWN)),
        "last_agents": [{"environment": where, "task_type": name} for where, name in lost],
        "work_in_progress": unsettled_among(ids),
        "confirm": confirmation_of(len(agents), is_filtered=is_filtered),
    }


def common_team(agents: Sequence[SelectedAgent]) -> UUID | None:
    """Return the team of all agents; None if they have several owners, or the platform is one."""
    teams = {agent.team_id for agent in agents}
    return next(iter(teams)) if len(teams) == 1 else None


def _facts(agent: SelectedAgent) -> AgentFacts:
    return AgentFacts(State(agent.state), agent.drain_reason)
