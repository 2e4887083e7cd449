"""Append to the event log, and follow it.

Appending happens in the transaction of the change and takes no lock that another writer could
meet. Numbering happens when somebody reads: docs/adr/0008 has the reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from controlplane.database.bulk import as_json, copy_rows
from controlplane.events import types
from controlplane.events.models import Event, EventQuerySet, Numbering
from controlplane.events.types import EventType
from controlplane.ids import uuid7
from controlplane.scopes import SEGMENTS, Scope

# So many are numbered at most in one go: the lock on the counter stays short.
_NUMBERED_AT_ONCE = 5000


def append(
    event_type: EventType,
    object_type: str,
    object_id: str,
    *,
    data: Mapping[str, Any],
    actor: str,
    scope: Scope = Scope(),
    request_id: str = "",
) -> None:
    """Write one event. Must be called inside the transaction of the change that it tells of."""
    if not connection.in_atomic_block:
        raise RuntimeError(f"{event_type.name} was recorded outside of a transaction")
    types.check(event_type, data)
    Event.objects.create(
        type=event_type.name,
        object_type=object_type,
        object_id=object_id,
        data=dict(data),
        actor=actor,
        request_id=request_id,
        **scope.segments,
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as `append` takes it, to append many."""

    event_type: EventType
    object_type: str
    object_id: str
    data: Mapping[str, Any]
    actor: str
    scope: Scope = Scope()
    request_id: str = ""


def append_each(entries: Sequence[Entry]) -> None:
    """Write many events with one COPY."""
    for one in entries:
        types.check(one.event_type, one.data)
    copy_rows(
        Event,
        ("id", "type", "object_type", "object_id", *SEGMENTS, "actor", "request_id", "data"),
        (
            (
                uuid7(),
                one.event_type.name,
                one.object_type,
                one.object_id,
                *one.scope.path,
                one.actor,
                one.request_id,
                as_json(one.data),
            )
            for one in entries
        ),
    )


def append_many(
    events: Sequence[tuple[EventType, str, Mapping[str, Any], Scope]],
    *,
    object_type: str,
    actor: str,
    request_id: str = "",
) -> None:
    """Write many events of one kind of object: type, object id, data and scope of each."""
    append_each(
        [
            Entry(event_type, object_type, object_id, data, actor, scope, request_id)
            for event_type, object_id, data, scope in events
        ]
    )


def follow(after: int) -> EventQuerySet:
    """Events numbered above `after`, in order, everything committed so far included."""
    number_committed()
    return Event.objects.numbered_after(after)


def last_number() -> int:
    """The highest number that was ever given, after numbering what is committed."""
    number_committed()
    return last_given()


def last_given() -> int:
    """The same without numbering: what has no number yet gets a higher one."""
    return int(Numbering.objects.get(id=1).last_seq)


def number_committed() -> int:
    """Give every committed event its number; return how many got one."""
    total = 0
    while Event.objects.filter(seq__isnull=True).exists():
        numbered = _number_some()
        total += numbered
        if numbered < _NUMBERED_AT_ONCE:
            break
    return total


@transaction.atomic
def _number_some() -> int:
    with connection.cursor() as cursor:
        # Whoever waits here sees, once it is its turn, all that the one before has numbered:
        # under READ COMMITTED the next statement takes a new snapshot.
        cursor.execute("SELECT last_seq FROM events_numbering WHERE id = 1 FOR UPDATE")
        cursor.execute(_NUMBER, {"limit": _NUMBERED_AT_ONCE})
        return int(cursor.fetchone()[0])


# `position` is drawn while the writer holds the lock of the object it changes, so for one object
# its order is the order of the changes.
_NUMBER = """
WITH pending AS (
    SELECT position, row_number() OVER (ORDER BY position) AS n
    FROM (SELECT position FROM events_event WHERE seq IS NULL ORDER BY position LIMIT %(limit)s) AS oldest
), numbered AS (
    UPDATE events_event AS event
    SET seq = numbering.last_seq + pending.n
    FROM pending, events_numbering AS numbering
    WHERE event.position = pending.position AND numbering.id = 1
    RETURNING event.seq
), moved AS (
    UPDATE events_numbering SET last_seq = last_seq + (SELECT count(*) FROM numbered) WHERE id = 1
)
SELECT count(*) FROM numbered
"""
