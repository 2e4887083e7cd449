"""Change one agent of a bulk change, or undo that, by the ordinary operations of the lifecycle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from controlplane.database.clock import statement_now
from controlplane.errors import ControlplaneError, UnknownAgent
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry import lifecycle
from registry.agents.lookup import lock_agent
from registry.agents.models import Agent
from registry.agents.states import State
from registry.bulk_changes.decisions import (
    TAKING,
    AgentFacts,
    BulkAction,
    BulkState,
    ItemState,
    obstacle,
    restoration,
)
from registry.bulk_changes.last_agents import lock_environment, lost_with
from registry.bulk_changes.models import AgentBulkChange, AgentBulkChangeItem
from registry.bulk_changes.records import author


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened to one agent. stops: the whole bulk change, before this agent was changed."""

    state: ItemState
    reason: str = ""
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    stops: bool = False


def change_item(row: AgentBulkChange, item: AgentBulkChangeItem, caller: Caller) -> Outcome:
    """Change the agent, or undo its change, in a savepoint. Needs a transaction."""
    operation = _undo if row.state == BulkState.UNDOING else _change
    try:
        with transaction.atomic():
            if operation is _change and _guards(row):
                lock_environment(item.environment)
            agent = lock_agent(caller, item.agent_id, Action.AGENT_WRITE)
            return operation(row, item, agent)
    except UnknownAgent:
        is_undo = row.state == BulkState.UNDOING
        return Outcome(ItemState.KEPT if is_undo else ItemState.SKIPPED, "The agent does not exist any more.")
    except ControlplaneError as error:
        return Outcome(ItemState.FAILED, error.detail)


def _change(row: AgentBulkChange, item: AgentBulkChangeItem, agent: Agent) -> Outcome:
    action = BulkAction(row.action)
    if reason := obstacle(action, _facts(agent)):
        return Outcome(ItemState.SKIPPED, reason)
    if _guards(row) and (lost := lost_with(agent)) is not None:
        message = f"{agent.name} is the last ready agent of {lost}."
        return Outcome(ItemState.SKIPPED, message, stops=True)
    before = _drain_of(agent)
    _perform(row, action, agent, author(row))
    return Outcome(ItemState.DONE, before=before, after=_drain_of(Agent.objects.get(id=agent.id)))


def _perform(row: AgentBulkChange, action: BulkAction, agent: Agent, actor: Actor) -> None:
    if action is BulkAction.DRAIN:
        lifecycle.drain(agent.id, reason=row.reason, until=row.drain_until, actor=actor)
    elif action is BulkAction.RESUME:
        lifecycle.resume(agent.id, actor=actor)
    elif action is BulkAction.RETIRE:
        lifecycle.retire(agent.id, actor=actor)
    else:
        lifecycle.approve(agent.id, actor=actor)


def _undo(row: AgentBulkChange, item: AgentBulkChangeItem, agent: Agent) -> Outcome:
    plan = restoration(item.before or {}, item.after or {}, _facts(agent))
    if isinstance(plan, str):
        return Outcome(ItemState.KEPT, plan)
    actor = author(row)
    if not plan.drain_reason:
        lifecycle.resume(agent.id, actor=actor)
        return Outcome(ItemState.UNDONE)
    until = datetime.fromisoformat(plan.drain_until) if plan.drain_until else None
    if until is not None and until <= statement_now():
        return Outcome(ItemState.KEPT, "The drain would have ended by now.")
    lifecycle.drain(agent.id, reason=plan.drain_reason, until=until, actor=actor)
    return Outcome(ItemState.UNDONE)


def _guards(row: AgentBulkChange) -> bool:
    return BulkAction(row.action) in TAKING and not row.allow_last_agents


def _facts(agent: Agent) -> AgentFacts:
    drain = _drain_of(agent)
    return AgentFacts(State(agent.state), drain["drain_reason"], drain["drain_until"])


def _drain_of(agent: Agent) -> dict[str, Any]:
    until = agent.drain_until
    return {"drain_reason": agent.drain_reason, "drain_until": until.isoformat() if until else None}
