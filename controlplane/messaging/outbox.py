"""The outbox: messages are stored in the transaction of the change that they announce, and sent later.

Any number of relays may send them. Messages with one order key are sent one after the other, all others in
any order. A message can be sent twice, with the same id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, models
from django.db.models import F
from django.db.models.functions import Now

from controlplane.messaging.envelope import Envelope, encode_with_data
from controlplane.messaging.models import OutboxMessage
from controlplane.observability.traces import spans

NATS, HTTPS = "nats", "https"
# Of settled messages, to look into.
KEPT = timedelta(days=7)
_ERROR_LENGTH = 255
_LONGEST_PAUSE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to store. channel: NATS or HTTPS."""

    destination: str
    order_key: str
    event_id: str
    event_type: str
    source: str
    data: dict[str, Any]
    channel: str = NATS


class Claimed(NamedTuple):
    """A message to send now. message_id: the `Nats-Msg-Id`. data: JSON. traceparent: or empty.

    waited: seconds until it was claimed.
    """

    position: int
    message_id: str
    destination: str
    event_id: str
    event_type: str
    source: str
    data: str
    created_at: datetime
    attempts: int
    traceparent: str
    waited: float

    @property
    def body(self) -> bytes:
        facts = (self.destination, self.created_at, self.traceparent)
        return encode_with_data(Envelope(self.event_id, self.source, self.event_type, {}, *facts), self.data)


def put(messages: Iterable[Outgoing]) -> None:
    """Store messages in the transaction of the change."""
    if not connection.in_atomic_block:
        raise RuntimeError("Messages must be stored within a transaction.")
    for message in messages:
        with spans.span("outbox.enqueue", "producer", attributes=attributes_of(message)) as span:
            OutboxMessage.objects.create(
                channel=message.channel,
                destination=message.destination,
                order_key=message.order_key,
                event_id=message.event_id,
                event_type=message.event_type,
                source=message.source,
                data=message.data,
                traceparent=span.traceparent or None,
            )


def attributes_of(message: Outgoing | Claimed) -> dict[str, str]:
    """Return the attributes of a span about a message. No data of it is among them."""
    return {
        "messaging.destination.name": message.destination,
        "cloudevents.event_id": message.event_id,
        "cloudevents.event_type": message.event_type,
    }


def settle(order_key: str, event_ids: Iterable[str]) -> int:
    """Note that these events were answered, or need no answer any more; return how many rows that changed."""
    rows = OutboxMessage.objects.filter(order_key=order_key, event_id__in=list(event_ids), settled_at=None)
    return rows.update(settled_at=Now())


def claim(limit: int) -> list[Claimed]:
    """Lock messages that can be sent now, oldest first, until the end of the transaction.

    Of each order key only the first unsent message is taken. Rows that another relay has locked are skipped.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [limit])
        return [Claimed(*row) for row in cursor.fetchall()]


def mark_sent(positions: Sequence[int]) -> None:
    """Note that NATS has stored these messages."""
    with connection.cursor() as cursor:
        cursor.execute(_MARK_SENT, [list(positions)])


def mark_refused(message: Claimed, error: str) -> None:
    """Note that NATS refused the message; it stays unsent, and is claimed again after a growing pause."""
    pause = min(2**message.attempts, _LONGEST_PAUSE_SECONDS)
    OutboxMessage.objects.filter(position=message.position).update(
        attempts=F("attempts") + 1,
        last_error=error[:_ERROR_LENGTH],
        leased_until=Now() + timedelta(seconds=pause),
    )


def postpone(positions: Sequence[int]) -> None:
    """Have these messages claimed again after a second: NATS was not able to take them."""
    OutboxMessage.objects.filter(position__in=positions).update(leased_until=Now() + timedelta(seconds=1))


def mark_dead(message: Claimed, error: str) -> None:
    """Note that the message is never sent; it is a dead letter now."""
    OutboxMessage.objects.filter(position=message.position).update(
        attempts=F("attempts") + 1, last_error=error[:_ERROR_LENGTH], settled_at=Now()
    )


def send_again() -> int:
    """Have every sent but unanswered message sent again, because NATS lost its messages; return how many.

    Each becomes a new row: JetStream may still know the old ids.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SEND_AGAIN)
        return int(cursor.rowcount)


def delete_old(limit: int) -> int:
    """Delete messages that were settled long ago; return how many."""
    old = OutboxMessage.objects.filter(settled_at__lt=Now() - KEPT).order_by("settled_at")
    positions = list(old.values_list("position", flat=True)[:limit])
    deleted, _ = OutboxMessage.objects.filter(position__in=positions).delete()
    return deleted


def envelope_of(message: OutboxMessage) -> Envelope:
    return Envelope(
        message.event_id,
        message.source,
        message.event_type,
        message.data,
        message.destination,
        message.created_at,
        message.traceparent or "",
    )


def unsent() -> models.QuerySet[OutboxMessage]:
    return OutboxMessage.objects.filter(sent_at=None, settled_at=None, channel=NATS)


# The first message of each key that is neither sent nor settled. The plan must not depend on statistics,
# which are never right for a queue, or a claim reads all messages for each of them. So coalesce keeps the
# index of unsent messages out of the subquery, and a range instead of an equality leaves its order to the
# index of keys.
_CLAIM = """
SELECT position, id::text, destination, event_id, event_type, source, data::text, created_at, attempts,
       coalesce(traceparent, ''), extract(epoch FROM statement_timestamp() - created_at)::float8
FROM messaging_outboxmessage message
WHERE sent_at IS NULL AND settled_at IS NULL AND channel = 'nats'
  AND (leased_until IS NULL OR leased_until <= statement_timestamp())
  AND position = (
    SELECT earliest.position FROM messaging_outboxmessage earliest
    WHERE earliest.order_key >= message.order_key AND earliest.order_key <= message.order_key
      AND coalesce(earliest.sent_at, 'infinity') = 'infinity'
      AND earliest.settled_at IS NULL AND earliest.channel = 'nats'
    ORDER BY earliest.order_key, earliest.position LIMIT 1
  )
ORDER BY position LIMIT %s FOR UPDATE OF message SKIP LOCKED
"""
_MARK_SENT = """
UPDATE messaging_outboxmessage
SET sent_at = statement_timestamp(), attempts = attempts + 1, last_error = '', leased_until = NULL
WHERE position = ANY(%s)
"""
# gen_random_uuid: only its uniqueness matters here.
_SEND_AGAIN = """
WITH lost AS (
    UPDATE messaging_outboxmessage SET settled_at = now()
    WHERE channel = 'nats' AND sent_at IS NOT NULL AND settled_at IS NULL
    RETURNING destination, order_key, event_id, event_type, source, data, traceparent, position
)
INSERT INTO messaging_outboxmessage
    (id, channel, destination, order_key, event_id, event_type, source, data, traceparent)
SELECT gen_random_uuid(), 'nats', destination, order_key, event_id, event_type, source, data, traceparent
FROM lost ORDER BY position
"""
