"""The inbox: each event has its effect once, however often it arrives."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection
from django.db.models.functions import Now

from controlplane.messaging.models import InboxEntry

# Longer than any stream keeps a message.
KEPT = timedelta(days=14)


def take(source: str, event_id: str) -> bool:
    """Record the event in the transaction of its effect; return False if it has had its effect before.

    While another transaction takes the same event, this one waits for its end.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("Events must be taken within a transaction.")
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [source, event_id])
        return bool(cursor.rowcount == 1)


def take_in_order(key: str, sequence: int, stored_at: datetime) -> bool:
    """Advance to this message of a stream; return False if a later one with the same key was taken before.

    Needs a lock on what the key stands for. In a new stream sequences start again, but times go on.
    """
    entries = InboxEntry.objects.filter(source=key)
    position = f"{sequence} {stored_at.isoformat()}"
    last = entries.first()
    if last is None:
        InboxEntry.objects.create(source=key, event_id=position)
        return True
    last_sequence, _, last_stored_at = last.event_id.partition(" ")
    if sequence < int(last_sequence) and stored_at <= datetime.fromisoformat(last_stored_at):
        return False
    entries.update(event_id=position, received_at=Now())
    return True


def delete_old(limit: int) -> int:
    """Delete entries of events that can no longer arrive again; return how many."""
    old = InboxEntry.objects.filter(received_at__lt=Now() - KEPT).order_by("received_at")
    deleted, _ = InboxEntry.objects.filter(id__in=list(old.values_list("id", flat=True)[:limit])).delete()
    return deleted


_TAKE = """
INSERT INTO messaging_inboxentry (source, event_id) VALUES (%s, %s) ON CONFLICT DO NOTHING
"""
