"""Record a mutation: one audit row and one event, in the transaction of the change or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from controlplane.access.actors import Actor
from controlplane.access.models import AuditRecord
from controlplane.bulk_rows import as_json, copy_rows
from controlplane.events import log
from controlplane.events.types import EventType
from controlplane.scopes import SEGMENTS, Scope

_OF_ACTION = ("actor_id", "actor", "action", "object_type", "object_id")


@dataclass(frozen=True, slots=True)
class Mutation:
    """One of many mutations in one transaction; the members are as in `record`."""

    event_type: EventType
    object_id: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    data: Mapping[str, Any]
    scope: Scope


def record_many(object_type: str, mutations: Sequence[Mutation], *, actor: Actor) -> None:
    """Write audit rows and events of many mutations, each with one COPY."""
    if not connection.in_atomic_block:
        raise RuntimeError("mutations were recorded outside of a transaction")
    copy_rows(
        AuditRecord,
        (*_OF_ACTION, *SEGMENTS, "before", "after", "reason", "request_id"),
        (
            (
                actor.principal_id,
                actor.name,
                one.event_type.name,
                object_type,
                one.object_id,
                *one.scope.path,
                as_json(one.before),
                as_json(one.after),
                actor.reason,
                actor.request_id,
            )
            for one in mutations
        ),
    )
    log.append_many(
        [(one.event_type, one.object_id, one.data, one.scope) for one in mutations],
        object_type=object_type,
        actor=actor.name,
        request_id=actor.request_id,
    )


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
