"""Messages that others send: a task or CI through a channel, and Alertmanager's alerts as events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from controlplane.access import attempt_counters, audit
from controlplane.delivery.models import Sink
from controlplane.errors import TooManyAttempts
from controlplane.events import log
from controlplane.identity.actors import Actor
from controlplane.ids import uuid7
from controlplane.notifications.event_types import ALERTMANAGER_FIRING, ALERTMANAGER_RESOLVED, SENT, Step
from controlplane.notifications.messages import Revision, send_to
from controlplane.notifications.templates import MOST_RENDERED, cut, one_line
from controlplane.notifications.wording import Words

_HOUR = 3600
_MOST_VALUE = 1_000


@dataclass(frozen=True, slots=True)
class Note:
    """A message for people. key: of earlier notes that this one continues or ends; empty for a new one."""

    subject: str
    text: str
    severity: str = "info"
    key: str = ""
    is_resolved: bool = False


@dataclass(frozen=True, slots=True)
class ReportedAlert:
    """An alert of Alertmanager (webhook, version 4)."""

    fingerprint: str
    is_firing: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts_at: str = ""
    ends_at: str = ""
    url: str = ""


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


@transaction.atomic
def report_alerts(alerts: Sequence[ReportedAlert], *, team_id: UUID | None, actor: Actor) -> None:
    """Append an event for each alert, which rules can match by its labels."""
    log.append_each([_entry(alert, team_id, actor) for alert in alerts])


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


def _entry(alert: ReportedAlert, team_id: UUID | None, actor: Actor) -> log.Entry:
    data: dict[str, Any] = {
        "labels": _texts(alert.labels),
        "annotations": _texts(alert.annotations),
        "name": one_line(alert.labels.get("alertname", "alert")),
        "starts_at": alert.starts_at,
        "ends_at": alert.ends_at,
        "url": alert.url,
    }
    event_type = ALERTMANAGER_FIRING if alert.is_firing else ALERTMANAGER_RESOLVED
    return log.Entry(
        event_type,
        "alertmanager_alert",
        alert.fingerprint,
        data,
        actor.name,
        request_id=actor.request_id,
        team_id=team_id,
    )


def _texts(values: Mapping[str, str]) -> dict[str, str]:
    return {name: cut(value, _MOST_VALUE) for name, value in values.items()}
