"""Audit rows and events of scheduled changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controlplane.access import audit
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from overrides import event_types
from overrides.scheduled_models import OverrideChange
from overrides.scheduling.decisions import ChangeState

_EVENTS: dict[ChangeState, EventType] = {
    ChangeState.SCHEDULED: event_types.CHANGE_SCHEDULED,
    ChangeState.APPLIED: event_types.CHANGE_APPLIED,
    ChangeState.REVERTED: event_types.CHANGE_REVERTED,
    ChangeState.CANCELLED: event_types.CHANGE_CANCELLED,
    ChangeState.REFUSED: event_types.CHANGE_REFUSED,
}


def record(row: OverrideChange, actor: Actor, *, before: dict[str, Any] | None) -> None:
    """Write the audit row and the event of the state that the change is in now."""
    after = snapshot(row)
    data = {**after, "scope": row.scope.segments}
    audit.record(
        _EVENTS[ChangeState(row.state)],
        "override_change",
        str(row.id),
        actor=actor if actor.reason else replace(actor, reason=row.message),
        before=before,
        after={**after, "attributes": row.attributes},
        data=data,
        scope=row.scope,
    )


def snapshot(row: OverrideChange) -> dict[str, Any]:
    return {
        "resource_type": row.resource_type,
        "state": str(row.state),
        "at": row.at.isoformat(),
        "until": row.until.isoformat() if row.until else "",
        "problem": row.problem,
        "version": row.applied_version or 0,
    }
