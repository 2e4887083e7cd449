"""Events of resources."""

from __future__ import annotations

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER, TEXT, EventType, register
from controlplane.identity.roles import Action
from registry.dispatch.lifecycle.states import ResourceState

declare_audience("resource", Action.RESOURCE_READ)
declare_audience("dead_letter", Action.RESOURCE_READ)

_RESOURCE: dict[str, Any] = {
    "resource_id": TEXT,
    "service_type": TEXT,
    "agent": TEXT,
    "epoch": INTEGER,
    "reason": TEXT,
}
_MOVE: dict[str, Any] = {**_RESOURCE, "from": TEXT}
RESOURCE_REQUESTED = register("resource.requested", "A resource was requested.", **_RESOURCE)
RESOURCE_DELETION_REQUESTED = register(
    "resource.deletion_requested", "The deletion of a resource was requested.", **_RESOURCE
)
RESOURCE_CANCEL_REQUESTED = register(
    "resource.cancel_requested", "The cancellation of a request was requested.", **_RESOURCE
)
RESOURCE_RETRIED = register("resource.retried", "Another attempt at a resource was requested.", **_RESOURCE)
RESOURCE_FORCED = register(
    "resource.deletion_forced", "A resource's record was marked as deleted by force.", **_RESOURCE
)
RESOURCE_ASSIGNED = register("resource.assigned", "A resource was given to an agent.", **_RESOURCE)
# Alarms: an operator should look.
RESOURCE_OVERDUE = register(
    "resource.overdue", "An answer or a status of a resource does not come.", **_RESOURCE
)
# An agent's long poll waits for it; it names no resource, since the agent may be another team's.
AGENT_REQUESTS_WAITING = register(
    "agent.requests_waiting",
    "Requests wait for an agent that fetches them by HTTPS.",
    agent_id=TEXT,
    name=TEXT,
    environment=TEXT,
)
BY_STATE: dict[ResourceState, EventType] = {
    ResourceState.PENDING: register("resource.pending", "A resource waits for an agent.", **_MOVE),
    ResourceState.QUEUED: register("resource.queued", "An agent holds the request of a resource.", **_MOVE),
    ResourceState.PROVISIONING: register("resource.provisioning", "A resource is being created.", **_MOVE),
    ResourceState.RUNNING: register("resource.running", "A resource is live.", **_MOVE),
    ResourceState.FAILED: register("resource.failed", "A resource could not be created, or broke.", **_MOVE),
    ResourceState.CANCELLING: register("resource.cancelling", "A request is being cancelled.", **_MOVE),
    ResourceState.CANCELLED: register("resource.cancelled", "A request was cancelled.", **_MOVE),
    ResourceState.DELETING: register("resource.deleting", "A resource is being deleted.", **_MOVE),
    ResourceState.DELETION_FAILED: register(
        "resource.deletion_failed", "The deletion of a resource was refused or never answered.", **_MOVE
    ),
    ResourceState.DELETED: register("resource.deleted", "Nothing of a resource is left.", **_MOVE),
}

_LETTER: dict[str, Any] = {
    "dead_letter_id": TEXT,
    "stream": TEXT,
    "subject": TEXT,
    "resource_id": TEXT,
    "reason": TEXT,
}
# An alarm: an operator should look.
DEAD_LETTER_STORED = register("dead_letter.stored", "A message could not be handled, and is kept.", **_LETTER)
DEAD_LETTER_REPLAYED = register("dead_letter.replayed", "A dead letter was handled or sent again.", **_LETTER)
DEAD_LETTER_DISCARDED = register("dead_letter.discarded", "A dead letter was discarded.", **_LETTER)
