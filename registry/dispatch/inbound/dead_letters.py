"""Dead letters for operators: keep a message that nobody could handle, show, replay and discard it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from controlplane.access import audit
from controlplane.database.owned import of_owners
from controlplane.errors import Conflict, UnknownDeadLetter
from controlplane.events import log
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor, system
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.messaging import dead_letters, outbox
from controlplane.messaging.dead_letters import LetterState, Undelivered
from controlplane.messaging.envelope import Envelope, InvalidEnvelope, decode
from controlplane.messaging.models import DeadLetter
from controlplane.messaging.nats_types import Received, StoredMessage
from controlplane.messaging.relay import OUTBOX
from controlplane.messaging.streams import REQUESTS
from registry.dispatch import storage
from registry.dispatch.event_types import (
    DEAD_LETTER_DISCARDED,
    DEAD_LETTER_REPLAYED,
    DEAD_LETTER_STORED,
)
from registry.dispatch.inbound.arrivals import Arrival, Refused, apply, origin_of
from registry.dispatch.lifecycle.records import Command
from registry.dispatch.lifecycle.states import UNFINISHED
from registry.dispatch.models import AssignmentRow

_ACTOR = system("dispatch").name
# The header with which NATS names the time at which a stream stored a message.
_STORED_AT = "Nats-Time-Stamp"


@transaction.atomic
def keep(
    message: Received | StoredMessage, reason: str, *, stream: str, consumer: str, deliveries: int
) -> None:
    """Store the message as a dead letter, once."""
    origin = origin_of(message.subject, message.body)
    letter = dead_letters.store(
        Undelivered(
            stream,
            consumer,
            message.sequence,
            message.subject,
            message.body,
            reason,
            {**message.headers, _STORED_AT: message.stored_at.isoformat()},
            deliveries,
            origin.resource_id,
            origin.team_id,
        )
    )
    if letter is not None:
        facts = _facts(letter)
        log.append(
            DEAD_LETTER_STORED,
            "dead_letter",
            str(letter.id),
            data=facts,
            actor=_ACTOR,
            team_id=letter.team_id,
        )


def visible_letters(caller: Caller) -> QuerySet[DeadLetter]:
    """Return the dead letters about resources of teams that the caller may read, or all of them."""
    return DeadLetter.objects.filter(of_owners(caller.owners_for(Action.RESOURCE_READ), "team_id"))


def get_letter(caller: Caller, letter_id: UUID) -> DeadLetter:
    """Return a dead letter that the caller may read. Raises UnknownDeadLetter."""
    return _first(visible_letters(caller), letter_id)


@transaction.atomic
def replay(letter_id: UUID, *, caller: Caller, actor: Actor) -> DeadLetter:
    """Handle the message again, or send it to its agent again.

    Raises UnknownDeadLetter, PermissionDenied, Conflict.
    """
    letter = _lock_open(letter_id, caller)
    if letter.stream in (REQUESTS, OUTBOX):
        _send_again(letter)
    else:
        _handle_again(letter)
    return _settle(letter, LetterState.REPLAYED, DEAD_LETTER_REPLAYED, actor)


@transaction.atomic
def discard(letter_id: UUID, *, caller: Caller, actor: Actor) -> DeadLetter:
    """Close the dead letter without any effect. Raises UnknownDeadLetter, PermissionDenied, Conflict."""
    letter = _lock_open(letter_id, caller)
    return _settle(letter, LetterState.DISCARDED, DEAD_LETTER_DISCARDED, actor)


def _first(letters: QuerySet[DeadLetter], letter_id: UUID) -> DeadLetter:
    letter = letters.filter(id=letter_id).first()
    if letter is None:
        raise UnknownDeadLetter(f"There is no dead letter {letter_id}.")
    return letter


def _lock_open(letter_id: UUID, caller: Caller) -> DeadLetter:
    letter = _first(visible_letters(caller).select_for_update(), letter_id)
    caller.require(Action.DISPATCH_OPERATE, owner=letter.team_id)
    if letter.state != LetterState.OPEN:
        raise Conflict(f"This dead letter is {letter.state} already.")
    return letter


def _handle_again(letter: DeadLetter) -> None:
    stored_at = datetime.fromisoformat(letter.headers.get(_STORED_AT) or letter.at.isoformat())
    try:
        has_effect = apply(Arrival(letter.subject, bytes(letter.payload), letter.sequence, stored_at))
    except Refused as error:
        raise Conflict(f"The message cannot be handled: {error} Correct the cause, or discard it.") from error
    if not has_effect:
        raise Conflict("The message was handled before, or a later one replaces it. Discard it.")


def _send_again(letter: DeadLetter) -> None:
    """Store the message in the outbox, with a new message id and the same event id."""
    try:
        envelope = decode(bytes(letter.payload))
    except InvalidEnvelope as error:
        raise Conflict(f"No agent could read the message: {error} Discard it.") from error
    assignment = _assignment(envelope)
    if envelope.type == Command.CREATE and (assignment is None or assignment.state not in UNFINISHED):
        raise Conflict(
            "The agent no longer has this request: sending it again would create the resource twice. "
            "Discard it."
        )
    resource_id = envelope.data.get("resource_id")
    outbox.put(
        [
            outbox.Outgoing(
                letter.subject,
                storage.order_key(str(resource_id)),
                envelope.id,
                envelope.type,
                envelope.source,
                dict(envelope.data),
                assignment.channel if assignment else outbox.NATS,
            )
        ]
    )


def _assignment(envelope: Envelope) -> AssignmentRow | None:
    data = envelope.data
    rows = AssignmentRow.objects.filter(resource_id=str(data.get("resource_id")))
    epoch = data.get("epoch")
    return rows.filter(epoch=epoch).first() if isinstance(epoch, int) else None


def _settle(letter: DeadLetter, state: LetterState, event_type: EventType, actor: Actor) -> DeadLetter:
    before = letter.state
    dead_letters.settle(letter, state)
    audit.record(
        event_type,
        "dead_letter",
        str(letter.id),
        actor=actor,
        before={"state": before},
        after={"state": letter.state},
        data=_facts(letter),
        team_id=letter.team_id,
    )
    return letter


def _facts(letter: DeadLetter) -> Mapping[str, Any]:
    return {
        "dead_letter_id": str(letter.id),
        "stream": letter.stream,
        "subject": letter.subject,
        "resource_id": letter.resource_id,
        "reason": letter.reason,
    }
