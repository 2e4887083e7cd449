"""Record a mutation: one audit row and one event, in the transaction of the change or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection

from controlplane.access.actors import Actor
from controlplane.access.models import AuditRecord
from controlplane.events import log
from controlplane.events.types import EventType
from controlplane.scopes import Scope


def record(
    event_type: EventType,
    object_type: str,
    object_id: str,
    *,
    actor: Actor,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    data: Mapping[str, Any],
    scope: Scope = Scope(),
) -> None:
    """Write both. `before` and `after` are the object as the API shows it, without secrets."""
    if not connection.in_atomic_block:
        raise RuntimeError(f"{event_type.name} was recorded outside of a transaction")
    AuditRecord.objects.create(
        actor_id=actor.principal_id,
        actor=actor.name,
        action=event_type.name,
        object_type=object_type,
        object_id=object_id,
        before=before,
        after=after,
        reason=actor.reason,
        request_id=actor.request_id,
        **scope.segments,
    )
    log.append(
        event_type,
        object_type,
        object_id,
        data=data,
        actor=actor.name,
        scope=scope,
        request_id=actor.request_id,
    )
