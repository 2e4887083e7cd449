"""Events of resources, as written by storage: assignments, states and alarms."""

from __future__ import annotations

from typing import Any

from controlplane.events import log
from controlplane.events.types import EventType
from controlplane.scopes import SEGMENTS, Scope
from registry.dispatch.event_types import BY_STATE, RESOURCE_ASSIGNED, RESOURCE_OVERDUE
from registry.dispatch.lifecycle.records import Change, Resource
from registry.dispatch.models import ResourceRow


def append_events(row: ResourceRow, before: Resource, change: Change, actor: str, request_id: str) -> None:
    """Append the events of a change that was written to the row."""
    if change.resource.last_epoch > before.last_epoch:
        record(row, RESOURCE_ASSIGNED, actor=actor, request_id=request_id)
    if change.resource.state is not before.state:
        record(
            row,
            BY_STATE[change.resource.state],
            actor=actor,
            request_id=request_id,
            **{"from": before.state.value},
        )
    for alarm in change.alarms:
        record(row, RESOURCE_OVERDUE, actor=actor, request_id=request_id, reason=alarm.text)


def record(row: ResourceRow, event_type: EventType, *, actor: str, request_id: str = "", **more: Any) -> None:
    """Append an event of the resource as it is in the row."""
    log.append(
        event_type,
        "resource",
        row.id,
        data={**facts(row), **more},
        actor=actor,
        scope=scope_of(row),
        request_id=request_id,
        team_id=row.team_id,
    )


def facts(row: ResourceRow) -> dict[str, Any]:
    """Return the members that all events of a resource have."""
    return {
        "resource_id": row.id,
        "service_type": row.service_type,
        "agent": row.agent_name,
        "epoch": row.epoch,
        "reason": row.reason,
    }


def scope_of(row: ResourceRow) -> Scope:
    return Scope(**{name: getattr(row, name) for name in SEGMENTS})
