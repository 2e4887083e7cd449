"""Audit log: each mutation writes one audit row and one event, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from controlplane.access.auth_metrics import count_audit_failure
from controlplane.access.models import AuditRecord
from controlplane.database.bulk import as_json, copy_rows
from controlplane.events import log
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.ids import uuid7, uuid7_texts
from controlplane.scopes import SEGMENTS, Scope

_ACTION_FIELDS = ("actor_id", "actor", "action", "object_type", "object_id")
# How the actor was authenticated.
_LOGIN_FIELDS = ("client", "identity", "session_hint")
_COLUMNS = (
    *_ACTION_FIELDS,
    *SEGMENTS,
    "team_id",
    "before",
    "after",
    "reason",
    "request_id",
    *_LOGIN_FIELDS,
    "event_id",
)


@dataclass(frozen=True, slots=True)
class Mutation:
    """One of many mutations in a transaction. Its fields are the parameters of `record`."""

    event_type: EventType
    object_id: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    data: Mapping[str, Any]
    scope: Scope = Scope()
    team_id: UUID | None = None


class EncodedMutation(NamedTuple):
    """One of many mutations of one kind of object, with its JSON already written. path: the scope's.

    A tuple, because an apply makes ten thousand of them.
    """

    event_type: EventType
    object_id: str
    before: str | None
    after: str | None
    data: str
    path: tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A mutation with the type of the changed object and the actor."""

    object_type: str
    mutation: Mutation
    actor: Actor


def record_many(object_type: str, mutations: Sequence[Mutation], *, actor: Actor) -> None:
    """Write audit rows and events of many mutations by one actor, each with one COPY."""
    record_entries([AuditEntry(object_type, mutation, actor) for mutation in mutations])


def record_encoded(object_type: str, mutations: Sequence[EncodedMutation], *, actor: Actor) -> None:
    """Write like `record_many` what is JSON already, for objects of the platform."""
    if not connection.in_atomic_block:
        raise RuntimeError("Mutations must be recorded within a transaction.")
    who = (actor.principal_id, actor.name)
    how = (actor.reason, actor.request_id, *_login_values(actor))
    event_ids = uuid7_texts(len(mutations))
    with count_audit_failure():
        copy_rows(
            AuditRecord,
            _COLUMNS,
            (
                (
                    *(*who, change.event_type.name, object_type, change.object_id),
                    *(*change.path, None, change.before, change.after, *how, event_id),
                )
                for change, event_id in zip(mutations, event_ids, strict=True)
            ),
        )
    events = [
        log.EncodedEntry(change.event_type, change.object_id, change.data, change.path)
        for change in mutations
    ]
    log.append_encoded(
        object_type, events, event_ids=event_ids, actor=actor.name, request_id=actor.request_id
    )


def record_entries(entries: Sequence[AuditEntry]) -> None:
    """Write audit rows and events of mutations by many actors, each with one COPY."""
    if not connection.in_atomic_block:
        raise RuntimeError("Mutations must be recorded within a transaction.")
    events = [_event_entry(entry.object_type, entry.mutation, entry.actor) for entry in entries]
    with count_audit_failure():
        copy_rows(
            AuditRecord,
            _COLUMNS,
            (
                (*_audit_row(entry.object_type, entry.mutation, entry.actor), event.event_id)
                for entry, event in zip(entries, events, strict=True)
            ),
        )
    log.append_each(events)


def _audit_row(object_type: str, mutation: Mutation, actor: Actor) -> tuple[Any, ...]:
    return (
        actor.principal_id,
        actor.name,
        mutation.event_type.name,
        object_type,
        mutation.object_id,
        *mutation.scope.path,
        mutation.team_id,
        as_json(mutation.before),
        as_json(mutation.after),
        actor.reason,
        actor.request_id,
        *_login_values(actor),
    )


def _login_values(actor: Actor) -> tuple[str | None, ...]:
    return tuple(getattr(actor, name) or None for name in _LOGIN_FIELDS)


def _event_entry(object_type: str, mutation: Mutation, actor: Actor) -> log.Entry:
    return log.Entry(
        mutation.event_type,
        object_type,
        mutation.object_id,
        mutation.data,
        actor.name,
        mutation.scope,
        actor.request_id,
        mutation.team_id,
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
    team_id: UUID | None = None,
) -> None:
    """Write an audit row and an event. before, after: the object as in the API, without secrets.

    team_id: of the team that owns the object; None for objects of the platform.
    """
    if not connection.in_atomic_block:
        raise RuntimeError(f"{event_type.name} must be recorded within a transaction.")
    event_id = uuid7()
    with count_audit_failure():
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
            team_id=team_id,
            event_id=event_id,
            **scope.segments,
            **dict(zip(_LOGIN_FIELDS, _login_values(actor), strict=True)),
        )
    log.append(
        event_type,
        object_type,
        object_id,
        data=data,
        actor=actor.name,
        scope=scope,
        request_id=actor.request_id,
        team_id=team_id,
        event_id=event_id,
    )
