"""Messages: revisions of a message about alerts are appended to the log, one event per receiver."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Count
from django.db.models.functions import Now

from controlplane.delivery.models import Sink
from controlplane.events import log
from controlplane.notifications.alert_states import OPEN
from controlplane.notifications.channels import channel_named
from controlplane.notifications.event_types import MESSAGE, Step
from controlplane.notifications.models import Alert, NotificationMessage
from controlplane.notifications.wording import NAMED, AlertLine, MessageFacts, Words, words_of

ACTOR = "system:notifications"
_OPEN = [state.value for state in OPEN]
_GROUPS = 4


@dataclass(frozen=True, slots=True)
class Revision:
    """What receivers get now. key: of the conversation, which a later revision continues."""

    key: str
    number: int
    step: Step
    rule: str
    severity: str
    words: Words
    total: int = 1
    firing: int = 1


def note_change(message_ids: Collection[UUID]) -> None:
    """Have these messages revised, because an alert of theirs has changed."""
    open_messages = NotificationMessage.objects.filter(id__in=message_ids, is_closed=False)
    open_messages.filter(update_at=None).update(update_at=Now())


def facts_of_message(message: NotificationMessage, rule_name: str) -> MessageFacts:
    """Return a message in the state of its alerts."""
    alerts = Alert.objects.filter(message=message)
    firing = alerts.filter(state__in=_OPEN).count()
    rows = alerts.order_by("event_seq", "id")[:NAMED]
    groups = alerts.order_by().values_list("group").annotate(number=Count("id")).order_by("-number", "group")
    lines = [AlertLine(row.title, row.text, row.event_type, row.group, row.state in _OPEN) for row in rows]
    return MessageFacts(
        rule=rule_name,
        total=message.total,
        firing=firing,
        lines=lines,
        groups=[group for group, _ in groups[:_GROUPS]],
        acknowledged_by=message.acknowledged_by,
    )


def send_revision(message: NotificationMessage, facts: MessageFacts, step: Step, severity: str) -> None:
    """Append the message's current revision for the channels of its level. The caller saves the message."""
    revision = Revision(
        key=str(message.id),
        number=message.revision,
        step=step,
        rule=facts.rule,
        severity=severity,
        words=words_of(facts),
        total=facts.total,
        firing=facts.firing,
    )
    send_to([UUID(channel) for channel in message.channels[: message.level + 1]], revision)


def send_to(channel_ids: Sequence[UUID], revision: Revision) -> int:
    """Append the revision for these channels; return for how many receivers."""
    channels = Sink.objects.in_bulk(channel_ids)
    entries = [
        _entry(channels[channel_id], recipient, revision)
        for channel_id in channel_ids
        if channel_id in channels
        for recipient in _recipients(channels[channel_id], revision.step)
    ]
    log.append_each(entries)
    return len(entries)


def close_message(message: NotificationMessage, now: datetime) -> None:
    """Mark that all of its alerts have ended."""
    message.is_closed, message.update_at, message.escalate_at = True, None, None
    message.last_sent_at = now


def delivery_key(data: Mapping[str, object]) -> str:
    """Return the ordering key of a message's deliveries: revisions arrive one after the other."""
    return f"{data['message']}/{data['recipient']}" if data["recipient"] else str(data["message"])


def _recipients(channel: Sink, step: Step) -> Sequence[str]:
    kind = channel_named(channel.kind)
    if kind is None or step not in kind.steps(channel.config):
        return ()
    return kind.recipients(channel.config)


def _entry(channel: Sink, recipient: str, revision: Revision) -> log.Entry:
    data = {
        "message": revision.key,
        "channel": str(channel.id),
        "recipient": recipient,
        "rule": revision.rule,
        "step": revision.step.value,
        "revision": revision.number,
        "severity": revision.severity,
        "subject": revision.words.subject,
        "text": revision.words.text,
        "total": revision.total,
        "firing": revision.firing,
        "url": alerts_url(),
    }
    return log.Entry(MESSAGE, "notification", revision.key, data, ACTOR, team_id=channel.team_id)


def alerts_url() -> str:
    """Return where people find the alerts."""
    base: str = settings.PUBLIC_URL or "http://localhost:8000"
    return f"{base.rstrip('/')}/alerts"
