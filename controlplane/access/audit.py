"""Record a mutation: one audit row and one event, in the transaction of the change or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from controlplane.access.models import AuditRecord
from controlplane.database.bulk import as_json, copy_rows
from controlplane.events import log
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
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
    scope: Scope = Scope()


@dataclass(frozen=True, slots=True)
class Deed:
    """A mutation, what kind of thing it changed, and who did it."""

    object_type: str
    mutation: Mutation
    actor: Actor


def record_many(object_type: str, mutations: Sequence[Mutation], *, actor: Actor) -> None:
    """Write audit rows and events of many mutations by one actor, each with one COPY."""
    record_deeds([Deed(object_type, one, actor) for one in mutations])


def record_deeds(deeds: Sequence[Deed]) -> None:
    """Write audit rows and events of mutations by many actors, each with one COPY."""
    if not connection.in_atomic_block:
        raise RuntimeError("mutations were recorded outside of a transaction")
    copy_rows(
        AuditRecord,
        (*_OF_ACTION, *SEGMENTS, "before", "after", "reason", "request_id"),
        (_audited(one.object_type, one.mutation, one.actor) for one in deeds),
    )
    log.append_each([_told(one.object_type, one.mutation, one.actor) for one in deeds])


def _audited(object_type: str, done: Mutation, actor: Actor) -> tuple[Any, ...]:
    return (
        actor.principal_id,
        actor.name,
        done.event_type.name,
        object_type,
        done.object_id,
        *done.scope.path,
        as_json(done.before),
        as_json(done.after),
        actor.reason,
        actor.request_id,
    )


def _told(object_type: str, done: Mutation, actor: Actor) -> log.Entry:
    return log.Entry(
        done.event_type, object_type, done.object_id, done.data, actor.name, done.scope, actor.request_id
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
