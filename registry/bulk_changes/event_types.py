"""Events of bulk changes."""

from __future__ import annotations

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, EventType, register
from controlplane.identity.roles import Action
from registry.bulk_changes.decisions import BulkState

declare_audience("agent_bulk_change", Action.AGENT_READ)

_NUMBER: dict[str, Any] = {"type": "integer"}
_FIELDS: dict[str, Any] = {
    "action": TEXT,
    "state": TEXT,
    "problem": TEXT,
    **dict.fromkeys(("total", "done", "failed", "skipped", "undone", "kept"), _NUMBER),
}
BY_STATE: dict[BulkState, EventType] = {
    BulkState.RUNNING: register("agent_bulk_change.started", "A change of many agents started.", **_FIELDS),
    BulkState.DONE: register("agent_bulk_change.done", "A change of many agents is complete.", **_FIELDS),
    BulkState.STOPPED: register("agent_bulk_change.stopped", "A change of many agents stopped.", **_FIELDS),
    BulkState.CANCELLED: register(
        "agent_bulk_change.cancelled", "A change of many agents was cancelled.", **_FIELDS
    ),
    BulkState.UNDOING: register(
        "agent_bulk_change.undoing", "A change of many agents is being undone.", **_FIELDS
    ),
    BulkState.UNDONE: register("agent_bulk_change.undone", "A change of many agents was undone.", **_FIELDS),
}
