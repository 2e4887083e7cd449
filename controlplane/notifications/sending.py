"""Messages that others send: a task or CI through a channel."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from controlplane.access import attempt_counters, audit
from controlplane.delivery.models import Sink
from controlplane.errors import TooManyAttempts
from controlplane.identity.actors import Actor
from controlplane.ids import uuid7
from controlplane.notifications.event_types import SENT, Step
from controlplane.notifications.messages import Revision, send_to
from controlplane.notifications.templates import MOST_RENDERED, cut, one_line
from controlplane.notifications.wording import Words

_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Note:
    """A message for people. key: of earlier notes that this one continues or ends; empty for a new one."""

    subject: str
    text: str
    severity: str = "info"
    key: str = ""
    is_resolved: bool = False


@transaction.atomic
def send_note(channel: Sink, note: Note, *, actor: Actor) -> str:
    """Queue a note for a channel; return its key. Raises TooManyAttempts."""
    counted_for = f"notify:{actor.principal_id or actor.name}"
    limit = settings.NOTIFICATIONS_PER_HOUR
    if attempt_counters.add([counted_for], _HOUR)[0] > limit:
        message = f"More than {limit} messages in an hour. Send fewer, or one for several things."
        raise TooManyAttempts(message, retry_after=_HOUR)
    key = note.key or str(uuid7())
    words = Words(one_line(note.subject), cut(note.text, MOST_RENDERED))
    revision = Revision(
        key=f"{channel.id}/{key}" if note.key else key,
        number=1 if note.is_resolved else 0,
        step=Step.RESOLVE if note.is_resolved else Step.TRIGGER,
        rule=f"sent by {actor.name}",
        severity=note.severity,
        words=words,
        total=0,
        firing=0 if note.is_resolved else 1,
    )
    send_to([channel.id], revision)
    _record(channel, note, key, actor)
    return key


def _record(channel: Sink, note: Note, key: str, actor: Actor) -> None:
    audit.record(
        SENT,
        "notification",
        key,
        actor=actor,
        before=None,
        after=None,
        data={"channel": channel.name, "subject": one_line(note.subject), "key": key},
        team_id=channel.team_id,
    )
