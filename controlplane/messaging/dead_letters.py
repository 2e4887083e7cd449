"""Dead letters: messages that nobody could handle, kept with their payload until an operator settles them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.database.clock import statement_now
from controlplane.messaging.models import DeadLetter, StreamRecord

_REASON_LENGTH, _SUBJECT_LENGTH = 255, 512


class LetterState(StrEnum):
    OPEN = "open"
    REPLAYED = "replayed"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A message to keep. resource_id, team_id: of the resource that it names, if there is one."""

    stream: str
    consumer: str
    sequence: int
    subject: str
    payload: bytes
    reason: str
    headers: Mapping[str, str] = field(default_factory=dict)
    deliveries: int = 0
    resource_id: str = ""
    team_id: UUID | None = None


def store(message: Undelivered) -> DeadLetter | None:
    """Keep the message in the caller's transaction; return None if it is kept already."""
    if not connection.in_atomic_block:
        raise RuntimeError("Dead letters must be stored within a transaction.")
    created_at = StreamRecord.objects.filter(name=message.stream).values_list("created_at", flat=True).first()
    letter = _insert(message, created_at)
    if letter is None and not _is_same(message):
        # The stream is a new one, which nobody has noticed yet: its sequences start again.
        letter = _insert(message, statement_now())
    return letter


def settle(letter: DeadLetter, state: LetterState) -> None:
    """Note what an operator decided."""
    DeadLetter.objects.filter(id=letter.id).update(state=state.value, settled_at=Now())
    letter.refresh_from_db()


def open_letters() -> QuerySet[DeadLetter]:
    return DeadLetter.objects.filter(state=LetterState.OPEN.value)


def delete_old(limit: int) -> int:
    """Delete dead letters past their retention; return how many."""
    age = timedelta(days=settings.DEAD_LETTER_DAYS)
    old = DeadLetter.objects.filter(at__lt=Now() - age).order_by("at")
    deleted, _ = DeadLetter.objects.filter(id__in=list(old.values_list("id", flat=True)[:limit])).delete()
    return deleted


def _insert(message: Undelivered, stream_created_at: datetime | None) -> DeadLetter | None:
    try:
        with transaction.atomic():
            return DeadLetter.objects.create(
                stream=message.stream,
                consumer=message.consumer,
                sequence=message.sequence,
                stream_created_at=stream_created_at,
                subject=_storable(message.subject)[:_SUBJECT_LENGTH],
                headers={_storable(name): _storable(value) for name, value in message.headers.items()},
                payload=message.payload,
                reason=_storable(message.reason)[:_REASON_LENGTH],
                deliveries=message.deliveries,
                resource_id=message.resource_id,
                team_id=message.team_id,
            )
    except IntegrityError:
        return None


def _is_same(message: Undelivered) -> bool:
    stored = DeadLetter.objects.filter(
        stream=message.stream, consumer=message.consumer, sequence=message.sequence
    )
    return any(bytes(letter.payload) == message.payload for letter in stored)


def _storable(text: str) -> str:
    """Return the text without what Postgres cannot store."""
    return text.replace("\x00", "").encode(errors="replace").decode()
