"""Run bulk changes, one agent per transaction. Level-based: the rows are the duty; safe in any number.

A worker that is killed loses the agent at hand at most, whose transaction is rolled back. The lock of the
bulk change keeps workers apart; that of the agent, everybody else.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F

from controlplane.access.authentication import caller_for
from controlplane.access.models import Principal
from controlplane.database.clock import statement_now
from controlplane.identity.callers import Caller
from registry.bulk_changes.changes import finish, skip_remaining
from registry.bulk_changes.decisions import BulkState, ItemState, next_pause
from registry.bulk_changes.item_changes import Outcome, change_item
from registry.bulk_changes.models import AgentBulkChange, AgentBulkChangeItem
from registry.bulk_changes.records import author, record, snapshot

MOST_SECONDS = 20.0
MOST_ATTEMPTS = 3
_SOURCES = {BulkState.RUNNING: ItemState.PENDING, BulkState.UNDOING: ItemState.DONE}
_ENDS = {BulkState.RUNNING: BulkState.DONE, BulkState.UNDOING: BulkState.UNDONE}
log = structlog.get_logger(__name__)


def run_bulk_changes(most: int = 10_000) -> int:
    """Change the agents that are due, for a while; return how many were looked at."""
    started, count = time.monotonic(), 0
    failed: list[UUID] = []
    while count < most and time.monotonic() - started < MOST_SECONDS and _run_next(failed):
        count += 1
    return count


def delete_old(keep: timedelta) -> int:
    """Delete bulk changes that ended long ago, with their items."""
    old = AgentBulkChange.objects.filter(finished_at__lt=statement_now() - keep)
    ids = list(old.values_list("id", flat=True)[:20])
    return AgentBulkChange.objects.filter(id__in=ids).delete()[0]


def _run_next(failed: list[UUID]) -> bool:
    """Change the next agent. False if nothing is due. failed: bulk changes to leave to the next run."""
    row: AgentBulkChange | None = None
    item: AgentBulkChangeItem | None = None
    try:
        with transaction.atomic():
            row = _next_due(failed)
            item = _next_item(row) if row else None
            if row:
                _step(row, item)
    except Exception:
        # Whatever failed, others must not wait for it, and the row is still due.
        log.exception("agent_bulk_change.failed", change=str(row.id) if row else "")
        if row is None:
            return False
        failed.append(row.id)
        _count_attempt(item)
    return row is not None


def _next_due(failed: Collection[UUID]) -> AgentBulkChange | None:
    due = AgentBulkChange.objects.filter(due_at__lte=statement_now()).exclude(id__in=failed)
    return due.select_for_update(skip_locked=True).order_by("due_at", "id").first()


def _next_item(row: AgentBulkChange) -> AgentBulkChangeItem | None:
    source = _SOURCES[BulkState(row.state)]
    items = AgentBulkChangeItem.objects.filter(bulk_change_id=row.id, state=source)
    return items.select_for_update(skip_locked=True).order_by("id").first()


def _step(row: AgentBulkChange, item: AgentBulkChangeItem | None) -> None:
    if item is None:
        _end(row, _ENDS[BulkState(row.state)])
        return
    caller = _author_of(row)
    if caller is None:
        _stop(row, "The author of the bulk change is not active any more.")
        return
    if item.attempts >= MOST_ATTEMPTS:
        _settle(row, item, Outcome(ItemState.FAILED, f"The change failed {item.attempts} times."))
        return
    outcome = change_item(row, item, caller)
    if outcome.stops:
        _stop(row, outcome.reason)
        return
    _settle(row, item, outcome)


def _settle(row: AgentBulkChange, item: AgentBulkChangeItem, outcome: Outcome) -> None:
    """Store the outcome of one agent, and when the next one is due."""
    was_undoing = row.state == BulkState.UNDOING
    state = ItemState.KEPT if was_undoing and outcome.state is ItemState.FAILED else outcome.state
    item.state, item.reason, item.changed_at = state, outcome.reason[:500], statement_now()
    if outcome.after is not None:
        item.before, item.after = outcome.before, outcome.after
    item.attempts = 0
    item.save()
    setattr(row, state.value, getattr(row, state.value) + 1)
    if was_undoing:
        row.done -= 1
    _pace(row)
    row.save()


def _pace(row: AgentBulkChange) -> None:
    row.left_in_batch -= 1
    pending = row.total - row.done - row.failed - row.skipped
    if row.state == BulkState.UNDOING:
        return
    pause = next_pause(row.left_in_batch, pending, row.pause_seconds)
    if row.left_in_batch <= 0:
        row.left_in_batch = row.batch_size
    row.due_at = statement_now() + timedelta(seconds=pause)


def _stop(row: AgentBulkChange, problem: str) -> None:
    skip_remaining(row, "The bulk change stopped.")
    _end(row, BulkState.STOPPED, problem)


def _end(row: AgentBulkChange, state: BulkState, problem: str = "") -> None:
    actor, before = author(row), snapshot(row)
    finish(row, state, problem)
    record(row, actor, before=before)


def _author_of(row: AgentBulkChange) -> Caller | None:
    """Return the author with today's rights, under the ceiling of the token that was used."""
    if row.author_id is None:
        return None
    principal = Principal.objects.filter(id=row.author_id, is_active=True).first()
    return caller_for(principal, row.author_scopes) if principal else None


def _count_attempt(item: AgentBulkChangeItem | None) -> None:
    if item is not None:
        AgentBulkChangeItem.objects.filter(id=item.id).update(attempts=F("attempts") + 1)
