"""Audit rows and events of bulk changes. Each changed agent has its own."""

from __future__ import annotations

from typing import Any

from controlplane.access import audit
from controlplane.identity.actors import Actor
from registry.bulk_changes.decisions import BulkState
from registry.bulk_changes.event_types import BY_STATE
from registry.bulk_changes.models import AgentBulkChange

_COUNTS = ("total", "done", "failed", "skipped", "undone", "kept")


def author(row: AgentBulkChange) -> Actor:
    """Return the actor of what the bulk change does later."""
    verb = "Undo of bulk" if row.state == BulkState.UNDOING else "Bulk"
    reason = f"{row.reason} {verb} change {row.id}.".strip()
    return Actor(row.author_id, row.undone_by or row.created_by, row.request_id, reason)


def snapshot(row: AgentBulkChange) -> dict[str, Any]:
    return {
        "action": row.action,
        "state": str(row.state),
        "problem": row.problem,
        **{name: getattr(row, name) for name in _COUNTS},
    }


def record(row: AgentBulkChange, actor: Actor, *, before: dict[str, Any] | None) -> None:
    """Write the audit row and the event of the state that the bulk change is in now."""
    after = snapshot(row)
    audit.record(
        BY_STATE[BulkState(row.state)],
        "agent_bulk_change",
        str(row.id),
        actor=actor,
        before=before,
        after={**after, "selector": row.selector},
        data=after,
        team_id=row.team_id,
    )
