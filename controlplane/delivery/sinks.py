"""Changes of sinks. Each is one transaction with its audit row and event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.team_models import Team
from controlplane.database.clock import database_now
from controlplane.delivery import event_types, quotas
from controlplane.delivery.kinds import (
    SinkSecrets,
    channel_kind_names,
    invalid_setting,
    kind_named,
)
from controlplane.delivery.models import Sink, SinkProgress, SinkState
from controlplane.delivery.signing import SigningSecret, new_secret
from controlplane.delivery.sink_secrets import seal_secrets, secrets_of, set_signing_secrets
from controlplane.delivery.sink_terms import SinkTerms, check_owner, check_terms, first_secret
from controlplane.errors import Conflict, InvalidRequest, LimitReached, NameTaken, UnknownSink
from controlplane.events import log
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition, check

_MOST_SINKS, _MOST_OF_A_TEAM = 1_000, 20


def visible_sinks(caller: Caller) -> QuerySet[Sink]:
    """Return the sinks that the caller may read."""
    rows = Sink.objects.within(caller).exclude(kind__in=channel_kind_names())
    return rows.select_related("team", "created_by", "progress")


def get_sink(caller: Caller, sink_id: UUID, action: Action = Action.SINK_READ) -> Sink:
    """Return a sink on which the caller may perform the action. Raises UnknownSink, PermissionDenied."""
    sink = visible_sinks(caller).filter(id=sink_id).first()
    if sink is None:
        raise UnknownSink(f"There is no sink {sink_id}. `GET /api/v1/sinks` lists those that you may read.")
    caller.require(action, owner=sink.team_id)
    return sink


@transaction.atomic
def create_sink(
    terms: SinkTerms, *, team: Team | None, actor: Actor, after_seq: int | None = None, secret: str = ""
) -> tuple[Sink, str]:
    """Create a sink and return it with its signing secret, which is shown once; empty if it signs nothing.

    after_seq: it gets the events after this number; None: those from now on. Raises InvalidRequest,
    NameTaken, LimitReached, QuotaExceeded, SecretsUnavailable.
    """
    check_terms(terms)
    check_owner(terms, team)
    secret = first_secret(terms.kind, secret)
    _check_limits(team)
    last = log.last_number()
    sink = Sink(team=team, created_by_id=_creator(actor), cursor_seq=_start(after_seq, last))
    _fill(sink, terms)
    signing = [SigningSecret(secret)] if secret else []
    seal_secrets(sink, SinkSecrets(signing, dict(terms.credentials or {})))
    _save_new(sink)
    SinkProgress.objects.create(sink=sink)
    quotas.check_new(sink)
    _record(event_types.SINK_CREATED, sink, actor, before=None, after=sink_state(sink), kind=sink.kind)
    sink.refresh_from_db()
    return sink, secret


def change_sink(
    sink: Sink,
    terms: SinkTerms,
    *,
    precondition: Precondition | None,
    actor: Actor,
    check_stored: Callable[[Sink], None] = lambda stored: None,
) -> Sink:
    """Replace what people write of a sink. Raises InvalidRequest, NameTaken, VersionMismatch, QuotaExceeded.

    check_stored: raises for a stored sink that must not become this one.
    """
    check_stored(sink)
    _check_change(sink, terms)
    return _change(sink, terms, precondition, actor, check_stored)


def _check_change(sink: Sink, terms: SinkTerms) -> None:
    """Raise InvalidRequest for terms that the sink cannot have.

    Without a lock: names are looked up, and a name server can take long. The dispatcher of all sinks
    would wait for the lock.
    """
    if terms.kind != sink.kind:
        raise invalid_setting("/kind", "The kind of a sink cannot change. Create another sink.")
    given = secrets_of(sink).credentials if terms.credentials is None else terms.credentials
    check_terms(replace(terms, credentials=given))
    check_owner(terms, sink.team)


@transaction.atomic
def _change(
    sink: Sink,
    terms: SinkTerms,
    precondition: Precondition | None,
    actor: Actor,
    check_stored: Callable[[Sink], None],
) -> Sink:
    sink = _locked(sink)
    check(precondition, sink.version)
    check_stored(sink)
    secrets = secrets_of(sink)
    if terms.credentials is None:
        terms = replace(terms, credentials=secrets.credentials)
    before = sink_state(sink)
    _fill(sink, terms)
    seal_secrets(sink, replace(secrets, credentials=dict(terms.credentials or {})))
    sink.version += 1
    _save_new(sink)
    quotas.check_faster(sink, before=before["per_second"])
    _record(event_types.SINK_CHANGED, sink, actor, before=before, after=sink_state(sink))
    return sink


@transaction.atomic
def delete_sink(sink: Sink, *, precondition: Precondition | None, actor: Actor) -> None:
    """Delete a sink with its deliveries. Raises VersionMismatch."""
    sink = _locked(sink)
    check(precondition, sink.version)
    _record(event_types.SINK_DELETED, sink, actor, before=sink_state(sink), after=None)
    sink.delete()


@transaction.atomic
def pause_sink(sink: Sink, *, actor: Actor) -> Sink:
    """Pause a sink. What is queued stays, and later events stay in the log."""
    sink = _locked(sink)
    if sink.state != SinkState.PAUSED:
        _change_state(sink, SinkState.PAUSED, "person")
        _record(event_types.SINK_PAUSED, sink, actor, before=None, after=sink_state(sink), reason="person")
    return sink


@transaction.atomic
def resume_sink(sink: Sink, *, actor: Actor) -> Sink:
    """Have a sink get events again, from where it stopped."""
    sink = _locked(sink)
    if sink.state != SinkState.ACTIVE:
        _change_state(sink, SinkState.ACTIVE, "")
        SinkProgress.objects.filter(sink=sink).update(failures=0, last_success_at=Now(), last_error="")
        _record(event_types.SINK_RESUMED, sink, actor, before=None, after=sink_state(sink))
    return sink


@transaction.atomic
def rotate_secret(sink: Sink, *, overlap: timedelta, actor: Actor) -> str:
    """Sign with a new secret, and with the old ones until the overlap ends; return the new one.

    Raises Conflict for a kind that signs nothing.
    """
    sink, now = _locked(sink), database_now()
    _check_signs(sink)
    secret = new_secret()
    old = [
        SigningSecret(one.text, min(one.ends_at or now + overlap, now + overlap))
        for one in secrets_of(sink).signing
    ]
    set_signing_secrets(sink, [SigningSecret(secret), *old], now)
    _save_secrets(sink)
    _record(event_types.SINK_SECRET_ROTATED, sink, actor, before=None, after=None)
    return secret


@transaction.atomic
def revoke_old_secrets(sink: Sink, *, actor: Actor) -> None:
    """Have only the newest secret sign, at once."""
    sink = _locked(sink)
    _check_signs(sink)
    set_signing_secrets(sink, secrets_of(sink).signing[:1], database_now())
    _save_secrets(sink)
    _record(event_types.SINK_SECRET_REVOKED, sink, actor, before=None, after=None)


def sink_state(sink: Sink) -> dict[str, Any]:
    """Return a sink as audit records hold it, without secrets."""
    return {
        "name": sink.name,
        "kind": sink.kind,
        "config": sink.config,
        "filter": sink.filter,
        "flavour": sink.flavour,
        "ordering": str(sink.ordering),
        "state": str(sink.state),
        "reason": sink.reason,
        "max_in_flight": sink.max_in_flight,
        "per_second": sink.per_second,
    }


def _check_limits(team: Team | None) -> None:
    if Sink.objects.count() >= _MOST_SINKS:
        raise LimitReached(f"There are {_MOST_SINKS} sinks already. Delete one that nobody needs.")
    if team is not None and Sink.objects.filter(team=team).count() >= _MOST_OF_A_TEAM:
        raise LimitReached(f"The team {team.slug} has {_MOST_OF_A_TEAM} sinks already. Delete one of them.")


def _start(after_seq: int | None, last: int) -> int:
    return last if after_seq is None else min(after_seq, last)


def _creator(actor: Actor) -> UUID:
    if actor.principal_id is None:
        raise InvalidRequest("A sink belongs to somebody whose permissions it has. Log in first.")
    return actor.principal_id


def _fill(sink: Sink, terms: SinkTerms) -> None:
    sink.name, sink.kind = terms.name, terms.kind
    sink.config, sink.filter = dict(terms.config), dict(terms.filter)
    sink.flavour, sink.ordering = terms.flavour, terms.ordering
    sink.max_in_flight, sink.per_second = terms.max_in_flight, terms.per_second


def _save_new(sink: Sink) -> None:
    try:
        with transaction.atomic():
            sink.save()
    except IntegrityError as error:
        message = f"There is a sink named {sink.name!r} already. Choose another name."
        raise NameTaken(message) from error


def _save_secrets(sink: Sink) -> None:
    sink.version += 1
    sink.save(update_fields=["secrets", "version"])


def _locked(sink: Sink) -> Sink:
    row = Sink.objects.select_for_update(no_key=True, of=("self",)).filter(id=sink.id).first()
    if row is None:
        raise UnknownSink(f"The sink {sink.id} was deleted meanwhile.")
    return row


def _change_state(sink: Sink, state: SinkState, reason: str) -> None:
    sink.state, sink.reason = state, reason
    sink.version += 1
    sink.save(update_fields=["state", "reason", "version"])


def _record(
    event_type: EventType,
    sink: Sink,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    **data: Any,
) -> None:
    audit.record(
        event_type,
        "sink",
        str(sink.id),
        actor=actor,
        before=before,
        after=after,
        data={"sink": sink.name, **data},
        team_id=sink.team_id,
    )


def _check_signs(sink: Sink) -> None:
    kind = kind_named(sink.kind)
    if kind is None or not kind.is_signed:
        message = f"A sink of kind {sink.kind} signs nothing. Change its credentials instead."
        raise Conflict(message)
