"""Sinks that stop by themselves: for a receiver that is gone or fails, a full queue, a disabled creator."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, Min, OuterRef
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.delivery.event_types import SINK_DISABLED, SINK_PAUSED
from controlplane.delivery.kinds import channel_kind_names
from controlplane.delivery.models import Delivery, DeliveryState, Lane, Sink, SinkState
from controlplane.identity.actors import system

# The log of events is the buffer from there on.
MOST_WAITING = 100_000
_OLDEST = timedelta(hours=24)
_ACTOR = system("relay")


@transaction.atomic
def disable(sink_id: UUID, reason: str) -> bool:
    """Switch an active sink off, with an event. Its waiting deliveries stay. False if it was not active."""
    return _stop(sink_id, SinkState.DISABLED, reason)


@transaction.atomic
def pause(sink_id: UUID, reason: str) -> bool:
    """Pause an active sink, with an event. False if it was not active."""
    return _stop(sink_id, SinkState.PAUSED, reason)


def pause_overflowing() -> list[UUID]:
    """Pause sinks with too many or too old waiting deliveries. When resumed, they read the log again."""
    paused = []
    for sink_id in _overflowing():
        with transaction.atomic():
            if _stop(sink_id, SinkState.PAUSED, "overflow"):
                _give_back_to_log(sink_id)
                paused.append(sink_id)
    return paused


def _stop(sink_id: UUID, state: str, reason: str) -> bool:
    sink = Sink.objects.select_for_update(no_key=True).filter(id=sink_id, state=SinkState.ACTIVE).first()
    if sink is None:
        return False
    sink.state, sink.reason = state, reason
    sink.version += 1
    sink.save(update_fields=["state", "reason", "version"])
    audit.record(
        SINK_DISABLED if state == SinkState.DISABLED else SINK_PAUSED,
        "sink",
        str(sink.id),
        actor=_ACTOR,
        before={"state": SinkState.ACTIVE.value, "reason": ""},
        after={"state": state, "reason": reason},
        data={"sink": sink.name, "reason": reason},
        team_id=sink.team_id,
    )
    return True


def _overflowing() -> list[UUID]:
    old = Delivery.objects.filter(
        sink=OuterRef("id"), state=DeliveryState.WAITING, replay=0, attempt=0, created_at__lt=Now() - _OLDEST
    )
    # The messages of channels are kept: nobody reads the log for them again.
    channels = channel_kind_names()
    too_old = Sink.objects.filter(Exists(old), state=SinkState.ACTIVE).exclude(kind__in=channels)
    with connection.cursor() as cursor:
        cursor.execute(_TOO_MANY, [channels, MOST_WAITING])
        too_many = [row[0] for row in cursor.fetchall()]
    return [*too_many, *too_old.exclude(id__in=too_many).values_list("id", flat=True)]


def _give_back_to_log(sink_id: UUID) -> None:
    """Drop waiting live deliveries, and move the cursor to before the first of them.

    Those that were delivered behind it keep their rows, so that they are not sent twice.
    """
    waiting = Delivery.objects.filter(sink=sink_id, state=DeliveryState.WAITING, replay=0)
    first = waiting.aggregate(first=Min("seq"))["first"]
    if first is None:
        return
    waiting.delete()
    Lane.objects.filter(sink=sink_id, replay=0).delete()
    Sink.objects.filter(id=sink_id).update(cursor_seq=first - 1)


# Counts no further than the limit.
_TOO_MANY = """
SELECT sink.id FROM delivery_sink sink WHERE sink.state = 'active' AND sink.kind <> ALL(%s) AND EXISTS (
    SELECT FROM delivery_delivery delivery
    WHERE delivery.sink_id = sink.id AND delivery.state = 'waiting'
    OFFSET %s
)
"""
