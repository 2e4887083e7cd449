"""Audit rows and events of change requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controlplane.access import audit
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from overrides.approval_models import ChangeRequest
from overrides.change_requests.storage import required_for


def record(
    event_type: EventType,
    row: ChangeRequest,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    comment: str = "",
) -> None:
    """Write the audit row and the event of a step."""
    after = snapshot(row)
    document = {"way": row.way, "document": row.document, "digest": row.digest}
    audit.record(
        event_type,
        "change_request",
        str(row.id),
        actor=actor if actor.reason else replace(actor, reason=comment or row.message),
        before=before,
        after={**after, **document, "comment": comment},
        data={**after, "scope": row.scope.segments, "comment": comment},
        scope=row.scope,
    )


def snapshot(row: ChangeRequest) -> dict[str, Any]:
    return {
        "resource_type": row.resource_type,
        "state": str(row.state),
        "author": row.created_by,
        "message": row.message,
        "ticket": row.ticket,
        "approvals": row.approvals.count(),
        "required": required_for(row),
        "affected_scopes": row.plan["affected_scopes"],
        "revision": row.revision or 0,
    }
