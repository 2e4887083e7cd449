"""Start, find, cancel and undo bulk changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from controlplane.database.bulk import copy_rows
from controlplane.database.clock import statement_now
from controlplane.errors import (
    ConfirmationRequired,
    Conflict,
    FieldError,
    InvalidRequest,
    UnknownAgentBulkChange,
)
from controlplane.formats.counts import counted
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.bulk_changes.decisions import ACTIVE, UNDOABLE, BulkAction, BulkState, ItemState
from registry.bulk_changes.models import AgentBulkChange, AgentBulkChangeItem
from registry.bulk_changes.records import record, snapshot
from registry.bulk_changes.selection import Selection, common_team, describe, select_agents

_COLUMNS = ("bulk_change_id", "agent_id", "name", "environment", "team_id", "state", "reason")


@dataclass(frozen=True, slots=True)
class BulkSpec:
    """The desired change. selector: for `select_agents`. shown_selector: as it was sent.

    confirm: the number of agents that the author saw; None if none was sent.
    """

    action: BulkAction
    selector: Mapping[str, Any]
    shown_selector: Mapping[str, Any]
    reason: str
    until: datetime | None = None
    confirm: int | None = None
    batch_size: int = 100
    pause_seconds: int = 5
    allow_last_agents: bool = False
    is_rehearsal: bool = False


@transaction.atomic
def start_bulk_change(spec: BulkSpec, caller: Caller, *, actor: Actor) -> AgentBulkChange:
    """Store the change with its agents; a task changes them. A rehearsal needs no confirmation.

    Raises ConfirmationRequired, Conflict if task types would lose their last agent, InvalidRequest.
    """
    caller.require_for_some_owner(Action.AGENT_WRITE)
    now = statement_now()
    _check_until(spec.until, now)
    selection = select_agents(spec.action, spec.selector, caller)
    impact = describe(spec.action, selection, is_filtered=bool(spec.selector))
    if not spec.is_rehearsal:
        caller.require_recent_login_for(len(selection.agents))
        _refuse(spec, impact)
    row = _row(spec, selection, impact, caller, actor)
    row.due_at = now if selection.agents else None
    if not selection.agents:
        row.state, row.finished_at = BulkState.DONE, now
    row.save(force_insert=True)
    row.refresh_from_db(fields=["created_at"])
    _store_items(row, selection)
    record(row, actor, before=None)
    return row


@transaction.atomic
def cancel_bulk_change(change_id: UUID, caller: Caller, *, actor: Actor) -> AgentBulkChange:
    """Leave the remaining agents as they are. Raises UnknownAgentBulkChange, PermissionDenied, Conflict."""
    row = _lock(change_id, caller)
    if row.state != BulkState.RUNNING:
        raise Conflict(f"The bulk change is {row.state}: only a running one can be cancelled.")
    before = snapshot(row)
    skip_remaining(row, "The bulk change was cancelled.")
    finish(row, BulkState.CANCELLED)
    record(row, actor, before=before)
    return row


@transaction.atomic
def undo_bulk_change(change_id: UUID, caller: Caller, *, actor: Actor) -> AgentBulkChange:
    """Restore the drains of the changed agents, by the rights of the caller; cancels what remains.

    Raises UnknownAgentBulkChange, PermissionDenied, Conflict.
    """
    row = _lock(change_id, caller)
    if BulkAction(row.action) not in UNDOABLE:
        raise Conflict(f"A bulk change with the action {row.action} cannot be undone.")
    if row.state in (BulkState.UNDOING, BulkState.UNDONE):
        raise Conflict(f"The bulk change is already {row.state}.")
    before = snapshot(row)
    skip_remaining(row, "The bulk change was undone.")
    row.state, row.due_at, row.finished_at, row.problem = BulkState.UNDOING, statement_now(), None, ""
    row.left_in_batch = row.batch_size
    row.author_id, row.undone_by = caller.principal_id, caller.name
    row.author_scopes, row.request_id = _scopes(caller), actor.request_id
    row.save()
    record(row, actor, before=before)
    return row


def visible_changes(caller: Caller) -> Any:
    """Return the bulk changes of the caller's agents, and those that the caller started."""
    readable = AgentBulkChange.objects.within(caller).values("id")
    own = Q(author_id=caller.principal_id, author_id__isnull=False)
    return AgentBulkChange.objects.filter(Q(id__in=readable) | own)


def find_bulk_change(change_id: UUID, caller: Caller) -> AgentBulkChange:
    """Raises UnknownAgentBulkChange, also if the caller cannot read it."""
    row: AgentBulkChange | None = visible_changes(caller).filter(id=change_id).first()
    if row is None:
        raise UnknownAgentBulkChange(f"There is no bulk change {change_id}.")
    return row


def skip_remaining(row: AgentBulkChange, reason: str) -> None:
    """Leave the agents that are still pending as they are. The caller holds the lock of the row."""
    pending = AgentBulkChangeItem.objects.filter(bulk_change_id=row.id, state=ItemState.PENDING)
    row.skipped += pending.update(state=ItemState.SKIPPED, reason=reason[:500])


def finish(row: AgentBulkChange, state: BulkState, problem: str = "") -> None:
    row.state, row.problem = state, problem[:1000]
    row.due_at, row.finished_at = None, statement_now()
    row.save()


def is_active(row: AgentBulkChange) -> bool:
    return BulkState(row.state) in ACTIVE


def _refuse(spec: BulkSpec, impact: dict[str, Any]) -> None:
    count, required = impact["agents"], impact["confirm"]
    if spec.confirm != required and (spec.confirm is None or spec.confirm != count):
        stated = "" if spec.confirm is None else f"You confirmed {counted(spec.confirm, 'agent')}. "
        raise ConfirmationRequired(
            f"{stated}This would {spec.action} {counted(count, 'agent')}. Review the effect with "
            f"dry_run=true, then send confirm={count} to go ahead.",
            affected=count,
            confirm=str(count),
            reason=f"This would {spec.action} {counted(count, 'agent')}.",
        )
    if impact["last_agents"] and not spec.allow_last_agents:
        first = impact["last_agents"][0]
        raise Conflict(
            f"This would take the last ready agent of {first['task_type']} in {first['environment']}. "
            "Select fewer agents, or send allow_last_agents=true.",
            last_agents=impact["last_agents"],
        )


def _row(
    spec: BulkSpec, selection: Selection, impact: dict[str, Any], caller: Caller, actor: Actor
) -> AgentBulkChange:
    return AgentBulkChange(
        action=spec.action.value,
        state=BulkState.RUNNING,
        selector=dict(spec.shown_selector),
        reason=spec.reason,
        drain_until=spec.until,
        batch_size=spec.batch_size,
        pause_seconds=spec.pause_seconds,
        allow_last_agents=spec.allow_last_agents,
        impact=impact,
        total=len(selection.agents) + len(selection.skipped),
        skipped=len(selection.skipped),
        left_in_batch=spec.batch_size,
        team_id=common_team(selection.agents),
        author_id=caller.principal_id,
        author_scopes=_scopes(caller),
        created_by=caller.name,
        request_id=actor.request_id,
    )


def _store_items(row: AgentBulkChange, selection: Selection) -> None:
    pending = ((agent, ItemState.PENDING, "") for agent in selection.agents)
    skipped = ((agent, ItemState.SKIPPED, reason[:500]) for agent, reason in selection.skipped)
    rows = (
        (row.id, agent.id, agent.name, agent.environment, agent.team_id, state.value, reason)
        for agent, state, reason in chain(pending, skipped)
    )
    copy_rows(AgentBulkChangeItem, _COLUMNS, rows)


def _lock(change_id: UUID, caller: Caller) -> AgentBulkChange:
    find_bulk_change(change_id, caller)
    row = AgentBulkChange.objects.select_for_update().get(id=change_id)
    if row.author_id != caller.principal_id:
        caller.require(Action.AGENT_WRITE, owner=row.team_id)
    caller.require_for_some_owner(Action.AGENT_WRITE)
    return row


def _scopes(caller: Caller) -> list[str] | None:
    return None if caller.scopes is None else list(caller.scopes)


def _check_until(until: datetime | None, now: datetime) -> None:
    if until is not None and until <= now:
        message = "`until` is in the past. Set a time in the future, or omit it."
        raise InvalidRequest(message, errors=[FieldError("/until", "over", message)])
