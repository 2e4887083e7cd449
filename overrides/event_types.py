"""Event types of overrides, resource types, guard rails, projects and domains."""

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.roles import Action
from controlplane.scopes import SEGMENTS

_NUMBER: dict[str, Any] = {"type": "integer"}
_SCOPE: dict[str, Any] = {
    "type": "object",
    "properties": dict.fromkeys(SEGMENTS, TEXT),
    "required": list(SEGMENTS),
    "additionalProperties": False,
}
_ATTRIBUTES: dict[str, Any] = {"type": ["object", "null"]}
_CHANGE: dict[str, Any] = {
    "resource_type": TEXT,
    "scope": _SCOPE,
    "version": {"type": "integer"},
    "revision": {"type": "integer"},
    "before": {**_ATTRIBUTES, "description": "Attributes before the change; null if nothing was set."},
    "after": {**_ATTRIBUTES, "description": "Attributes after the change; null if nothing is set."},
    "truncated": {
        "type": "boolean",
        "description": "True if before and after are null because they are too large for an event.",
    },
    "version_url": {"type": "string", "description": "Path of this version in the override's history."},
}

declare_audience("project", Action.PROJECT_READ)
declare_audience("domain", Action.SELF_READ)
declare_audience("override", Action.OVERRIDE_READ)
declare_audience("resource_type", Action.SELF_READ)
declare_audience("guard_rail", Action.OVERRIDE_READ)
declare_audience("override_change", Action.OVERRIDE_READ)
declare_audience("override_freeze", Action.OVERRIDE_READ)
declare_audience("approval_policy", Action.OVERRIDE_READ)
declare_audience("change_request", Action.OVERRIDE_READ)
declare_audience("overrides_source", Action.OVERRIDE_READ)
declare_audience("flyte", Action.PROJECT_READ)

PROJECT_CREATED = register("project.created", "A project was registered.", project=TEXT)
PROJECT_UPDATED = register("project.updated", "A project was changed or archived.", project=TEXT)
DOMAIN_CREATED = register("domain.created", "A domain was registered.", domain=TEXT)
OVERRIDE_CREATED = register(
    "override.created",
    "Attributes were set at a scope for the first time, or again after a deletion.",
    **_CHANGE,
)
OVERRIDE_UPDATED = register("override.updated", "The attributes at a scope were changed.", **_CHANGE)
OVERRIDE_DELETED = register("override.deleted", "The attributes at a scope were deleted.", **_CHANGE)
TYPE_DEFINED = register(
    "resource_type.defined", "A resource type was defined.", name=TEXT, version=_NUMBER, revision=_NUMBER
)
TYPE_CHANGED = register(
    "resource_type.changed", "A resource type was changed.", name=TEXT, version=_NUMBER, revision=_NUMBER
)
TYPE_REMOVED = register(
    "resource_type.removed", "A resource type was deleted.", name=TEXT, version=_NUMBER, revision=_NUMBER
)
_RAIL: dict[str, Any] = {"name": TEXT, "resource_type": TEXT, "scope": _SCOPE, "revision": _NUMBER}
RAIL_SET = register("guard_rail.set", "A guard rail was created.", **_RAIL)
RAIL_CHANGED = register("guard_rail.changed", "A guard rail was changed.", **_RAIL)
RAIL_REMOVED = register("guard_rail.removed", "A guard rail was deleted.", **_RAIL)
_FREEZE: dict[str, Any] = {"scope": _SCOPE, "starts_at": TEXT, "ends_at": TEXT, "reason": TEXT}
FREEZE_DECLARED = register("override_freeze.declared", "A freeze of overrides was declared.", **_FREEZE)
FREEZE_CHANGED = register("override_freeze.changed", "A freeze of overrides was changed.", **_FREEZE)
FREEZE_ENDED = register(
    "override_freeze.ended", "A freeze of overrides was ended before its time.", **_FREEZE
)
FREEZE_OVERRIDDEN = register(
    "override_freeze.overridden",
    "Overrides were changed in spite of a freeze.",
    scope=_SCOPE,
    reason={**TEXT, "description": "Why the freeze was overridden."},
    revision=_NUMBER,
)
_POLICY: dict[str, Any] = {"scope": _SCOPE, "approvals": _NUMBER, "reason": TEXT}
POLICY_CREATED = register("approval_policy.created", "Changes of overrides need approvals now.", **_POLICY)
POLICY_CHANGED = register("approval_policy.changed", "An approval policy was changed.", **_POLICY)
POLICY_DELETED = register("approval_policy.deleted", "An approval policy was deleted.", **_POLICY)
POLICY_BYPASSED = register(
    "approval_policy.bypassed",
    "Overrides were changed without the approvals that they need.",
    scope=_SCOPE,
    reason={**TEXT, "description": "Why there was no time for approvals."},
    revision=_NUMBER,
)
_REQUEST: dict[str, Any] = {
    "resource_type": TEXT,
    "scope": _SCOPE,
    "state": TEXT,
    "author": TEXT,
    "message": TEXT,
    "ticket": TEXT,
    "approvals": {**_NUMBER, "description": "How many approvals it has."},
    "required": {**_NUMBER, "description": "How many approvals it needs."},
    "affected_scopes": {**_NUMBER, "description": "How many scopes have other effective values then."},
    "comment": {**TEXT, "description": "Of the approval, rejection or comment; otherwise empty."},
    "revision": {**_NUMBER, "description": "Revision that it was published as; 0 for none."},
}
REQUEST_OPENED = register("change_request.opened", "A change of overrides waits for approval.", **_REQUEST)
REQUEST_REFRESHED = register(
    "change_request.refreshed", "A change request has a new plan, and its approvals fell.", **_REQUEST
)
REQUEST_COMMENTED = register("change_request.commented", "A change request got a comment.", **_REQUEST)
REQUEST_APPROVED = register("change_request.approved", "Somebody approved a change request.", **_REQUEST)
REQUEST_REJECTED = register("change_request.rejected", "Somebody rejected a change request.", **_REQUEST)
REQUEST_WITHDRAWN = register("change_request.withdrawn", "A change request was withdrawn.", **_REQUEST)
REQUEST_PUBLISHED = register(
    "change_request.published", "An approved change took effect, or was scheduled.", **_REQUEST
)
_SCHEDULED: dict[str, Any] = {
    "resource_type": TEXT,
    "scope": _SCOPE,
    "state": TEXT,
    "at": TEXT,
    "until": {**TEXT, "description": "When it is undone; empty for never."},
    "problem": {**TEXT, "description": "Why it was refused; otherwise empty."},
    "version": {**_NUMBER, "description": "Version that it made of the override; 0 for none."},
}
CHANGE_SCHEDULED = register("override_change.scheduled", "A change was scheduled.", **_SCHEDULED)
CHANGE_APPLIED = register("override_change.applied", "A scheduled change was applied.", **_SCHEDULED)
CHANGE_REVERTED = register("override_change.reverted", "A change expired and was undone.", **_SCHEDULED)
CHANGE_CANCELLED = register("override_change.cancelled", "A scheduled change was cancelled.", **_SCHEDULED)
CHANGE_REFUSED = register("override_change.refused", "A scheduled change could not be made.", **_SCHEDULED)
SOURCE_LOADED = register(
    "overrides_source.loaded",
    "A new set of override files took effect.",
    digest=TEXT,
    revision=_NUMBER,
    commit=TEXT,
)
SOURCE_REFUSED = register(
    "overrides_source.refused",
    "A set of override files was refused; the last valid set stays in effect.",
    digest=TEXT,
    state=TEXT,
)
SOURCE_CONFIRMED = register(
    "overrides_source.confirmed",
    "A set of files that removes many overrides was confirmed.",
    digest=TEXT,
    removals=_NUMBER,
)
_FLYTE_EVENT: dict[str, Any] = {
    "phase": TEXT,
    "labels": {"type": "object", "description": "Of the execution, if they are known."},
    "launch_plan": {"type": ["object", "null"], "description": "Flyte's identifier; null if unknown."},
    "principal": {**TEXT, "description": "Who started the execution; empty if unknown."},
    "message": {"type": "object", "description": "The request of Flyte's engine as protobuf-JSON."},
}
FLYTE_WORKFLOW_EVENT = register(
    "flyte.workflow_event", "Flyte's engine reported a phase of a workflow execution.", **_FLYTE_EVENT
)
FLYTE_NODE_EVENT = register("flyte.node_event", "Flyte's engine reported a phase of a node.", **_FLYTE_EVENT)
FLYTE_TASK_EVENT = register(
    "flyte.task_event", "Flyte's engine reported a phase of a task execution.", **_FLYTE_EVENT
)
