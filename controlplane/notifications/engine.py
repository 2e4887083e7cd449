"""The engine: events become alerts, alerts become messages, messages become deliveries of channels.

Each step is one transaction with the engine's cursor in the log: a crash at any point neither misses nor
doubles a step. One process at a time does so.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction

from controlplane.database.locks import AdvisoryLock, try_lock
from controlplane.delivery.audience import Audience
from controlplane.delivery.dispatcher import BATCH, Queued, queue, read_events
from controlplane.delivery.kinds import channel_kind_names
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.models import Sink
from controlplane.events import log
from controlplane.messaging.failpoints import reach
from controlplane.notifications.alert_states import LASTS, AlertState
from controlplane.notifications.alertmanager import forget_old_alerts
from controlplane.notifications.built_in_rules import create_built_in_rules
from controlplane.notifications.event_types import MESSAGE
from controlplane.notifications.messages import delivery_key
from controlplane.notifications.models import Alert, NotificationCursor
from controlplane.notifications.occurrences import DefaultTexts
from controlplane.notifications.opposites import lasting_types
from controlplane.notifications.publishing import publish_due
from controlplane.notifications.raising import raise_alerts
from controlplane.notifications.stored_rules import active_rules

_CLEAN_EVERY = timedelta(minutes=10)
_KEPT = timedelta(days=90)
# While events pour in, alerts are published after so many batches, and else when all events were read.
_MOST_BATCHES = 20


class Progress(NamedTuple):
    """How much a step did: events looked at, and messages sent."""

    events: int
    messages: int


class Engine:
    """Turns events into messages, step by step."""

    def __init__(self) -> None:
        self._audience = Audience()
        self._batches = 0

    def step(self) -> Progress:
        """Look at the next events, and send what is due."""
        log.number_committed()
        with transaction.atomic():
            if not try_lock(AdvisoryLock.NOTIFICATIONS):
                return Progress(0, 0)
            cursor = _cursor()
            now = self._audience.refresh()
            events = read_events(cursor.seq, BATCH)
            rules = active_rules()
            reach("notifications read")
            queue_messages(events)
            reach("messages queued")
            raise_alerts(rules, events, self._audience, _default_texts())
            reach("alerts raised")
            sent = publish_due(rules, now) if self._is_publishing(len(events)) else 0
            self._save(cursor, events, now)
            reach("notifications moved")
        return Progress(len(events), sent)

    def _is_publishing(self, number: int) -> bool:
        """True unless more events wait, which may end alerts that are about to be sent."""
        self._batches = self._batches + 1 if number == BATCH else 0
        return self._batches % _MOST_BATCHES == 0

    def _save(self, cursor: NotificationCursor, events: Sequence[LoggedEvent], now: datetime) -> None:
        if now - cursor.cleaned_at >= _CLEAN_EVERY:
            clean(now)
            cursor.cleaned_at = now
            cursor.save(update_fields=["cleaned_at"])
        if events:
            NotificationCursor.objects.filter(id=cursor.id).update(seq=events[-1].seq)


def _default_texts() -> DefaultTexts:
    return DefaultTexts(settings.FLYTE_EMAIL_SUBJECT, settings.FLYTE_EMAIL_BODY)


def queue_messages(events: Sequence[LoggedEvent]) -> None:
    """Queue the messages among these events for their channels."""
    wanted = [(UUID(event.data["channel"]), event) for event in events if event.type == MESSAGE.name]
    if not wanted:
        return
    rows = Sink.objects.filter(id__in={channel_id for channel_id, _ in wanted}, kind__in=channel_kind_names())
    # Locked, so that none is deleted before its deliveries are written.
    present = set(rows.select_for_update(no_key=True).order_by("id").values_list("id", flat=True))
    queued = [
        Queued(channel_id, event, delivery_key(event.data))
        for channel_id, event in wanted
        if channel_id in present
    ]
    queue(queued, replay=0)


def clean(now: datetime) -> None:
    """End alerts that no event can end after a day, and delete what ended long ago."""
    lasting = Alert.objects.exclude(event_type__in=lasting_types()).filter(last_at__lt=now - LASTS)
    open_states = (AlertState.FIRING.value, AlertState.ACKNOWLEDGED.value)
    lasting.filter(state__in=open_states, message__isnull=False).update(
        state=AlertState.RESOLVED.value, resolved_at=now
    )
    Alert.objects.filter(resolved_at__lt=now - _KEPT).delete()
    forget_old_alerts(now)


def _cursor() -> NotificationCursor:
    """Return the cursor; the first one is at the end of the log."""
    row = NotificationCursor.objects.filter(id=1).first()
    if row is None:
        create_built_in_rules()
        row = NotificationCursor.objects.create(id=1, seq=log.last_given())
        row.refresh_from_db()
    return row
