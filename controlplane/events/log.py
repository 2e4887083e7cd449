"""The event log: append events and follow them.

Events are appended in the transaction of the change, without a lock that could block other writers. They are
numbered when somebody reads. For the reasons, see docs/adr/0008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from django.db import connection, transaction

from controlplane.database.bulk import as_json, copy_rows
from controlplane.database.changes import ChangesRefused
from controlplane.events import types
from controlplane.events.models import Compaction, Event, EventQuerySet, LostEvents, Numbering
from controlplane.events.types import EventType
from controlplane.ids import uuid7
from controlplane.observability.traces import spans
from controlplane.replicas.reading import require_primary
from controlplane.scopes import SEGMENTS, Scope

# Maximum number of events per numbering, to keep the lock on the counter short.
_NUMBERING_BATCH = 5000
_COLUMNS = (
    *("id", "type", "object_type", "object_id", *SEGMENTS),
    *("actor", "request_id", "team_id", "traceparent", "data"),
)


def append(
    event_type: EventType,
    object_type: str,
    object_id: str,
    *,
    data: Mapping[str, Any],
    actor: str,
    scope: Scope = Scope(),
    request_id: str = "",
    team_id: UUID | None = None,
    event_id: UUID | None = None,
) -> None:
    """Write an event, in the transaction of the change that it reports.

    team_id: of the object's owner. event_id: a UUIDv7 that the caller made; None: a new one.
    """
    if not connection.in_atomic_block:
        raise RuntimeError(f"{event_type.name} must be recorded within a transaction.")
    types.check(event_type, data)
    Event.objects.create(
        id=event_id or uuid7(),
        type=event_type.name,
        object_type=object_type,
        object_id=object_id,
        data=dict(data),
        actor=actor,
        request_id=request_id,
        team_id=team_id,
        traceparent=spans.traceparent() or None,
        **scope.segments,
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """An event for `append_each`, with the parameters of `append`."""

    event_type: EventType
    object_type: str
    object_id: str
    data: Mapping[str, Any]
    actor: str
    scope: Scope = Scope()
    request_id: str = ""
    team_id: UUID | None = None
    event_id: UUID = field(default_factory=uuid7)


def append_each(entries: Sequence[Entry]) -> None:
    """Write many events with one COPY."""
    for entry in entries:
        types.check(entry.event_type, entry.data)
    traceparent = spans.traceparent() or None
    copy_rows(
        Event,
        _COLUMNS,
        (
            (
                entry.event_id,
                entry.event_type.name,
                entry.object_type,
                entry.object_id,
                *entry.scope.path,
                entry.actor,
                entry.request_id,
                entry.team_id,
                traceparent,
                as_json(entry.data),
            )
            for entry in entries
        ),
    )


class EncodedEntry(NamedTuple):
    """An event for `append_encoded`. data: as JSON; path: the scope's."""

    event_type: EventType
    object_id: str
    data: str
    path: tuple[str, str, str, str]


def append_encoded(
    object_type: str,
    entries: Sequence[EncodedEntry],
    *,
    event_ids: Sequence[str],
    actor: str,
    request_id: str = "",
) -> None:
    """Write many events of the platform whose data is JSON already, with one COPY. event_ids: UUIDv7.

    All data of one event type comes from one template, so the first of each type is checked.
    """
    for entry in {entry.event_type.name: entry for entry in reversed(entries)}.values():
        types.check(entry.event_type, msgspec.json.decode(entry.data))
    traceparent = spans.traceparent() or None
    copy_rows(
        Event,
        _COLUMNS,
        (
            (
                *(event_id, entry.event_type.name, object_type, entry.object_id),
                *(*entry.path, actor, request_id, None, traceparent, entry.data),
            )
            for event_id, entry in zip(event_ids, entries, strict=True)
        ),
    )


def append_many(
    events: Sequence[tuple[EventType, str, Mapping[str, Any], Scope]],
    *,
    object_type: str,
    actor: str,
    request_id: str = "",
) -> None:
    """Write many events for one type of object: event type, object id, data and scope of each."""
    append_each(
        [
            Entry(event_type, object_type, object_id, data, actor, scope, request_id)
            for event_type, object_id, data, scope in events
        ]
    )


def follow(after: int) -> EventQuerySet:
    """Return the events after this number in ascending order, including all committed events."""
    number_committed()
    return Event.objects.numbered_after(after)


def last_number() -> int:
    """Return the highest number after numbering all committed events."""
    number_committed()
    return last_given()


def last_given() -> int:
    """Return the highest number without numbering: later numbers are higher."""
    return int(Numbering.objects.get(id=1).last_seq)


def dropped_number() -> int:
    """Return the highest number whose event was archived and dropped; 0 if all are kept."""
    return int(Compaction.objects.get(id=1).dropped_seq)


def continues_after(after: int) -> int | None:
    """Return the number after which a follower must begin again: it has seen events that a restore has lost.

    None: it has not.
    """
    lost = LostEvents.objects.filter(after__lt=after, until__gt=after)
    return lost.values_list("until", flat=True).order_by("-until").first()


def lock_numbering() -> int:
    """Keep others from numbering events until the transaction ends; return the last number."""
    return int(Numbering.objects.select_for_update().get(id=1).last_seq)


def skip_to(seq: int) -> None:
    """Let the next event have a number above this one: those between were lost. Needs `lock_numbering`."""
    LostEvents.objects.create(after=last_given(), until=seq)
    Numbering.objects.filter(id=1).update(last_seq=seq)


def number_committed() -> int:
    """Number all committed events; return how many were numbered.

    While Postgres accepts no changes, the rest is numbered later, and followers read what has a number.
    """
    total, numbered = 0, _NUMBERING_BATCH
    while numbered == _NUMBERING_BATCH:
        numbered = number_oldest(_NUMBERING_BATCH)
        total += numbered
    return total


def number_oldest(most: int) -> int:
    """Number at most so many committed events, the oldest first; return how many were numbered."""
    if not Event.objects.filter(seq__isnull=True).exists():
        return 0
    # A replica cannot number.
    require_primary()
    try:
        return _number_some(most)
    except ChangesRefused:
        return 0


@transaction.atomic
def _number_some(most: int) -> int:
    with connection.cursor() as cursor:
        # A transaction that waits here then sees all events numbered by the one before: under READ COMMITTED
        # the next statement has a new snapshot.
        cursor.execute("SELECT last_seq FROM events_numbering WHERE id = 1 FOR UPDATE")
        cursor.execute(_NUMBER, {"limit": most})
        return int(cursor.fetchone()[0])


# `position` is assigned while the writer holds the lock of the changed object, so that its order is the order
# of the object's changes.
_NUMBER = """
WITH pending AS (
    SELECT position, at, row_number() OVER (ORDER BY position) AS n
    FROM (SELECT position, at FROM events_event WHERE seq IS NULL ORDER BY position LIMIT %(limit)s) AS oldest
), numbered AS (
    UPDATE events_event AS event
    SET seq = numbering.last_seq + pending.n
    FROM pending, events_numbering AS numbering
    -- `at` names the partition.
    WHERE event.position = pending.position AND event.at = pending.at AND numbering.id = 1
    RETURNING event.seq
), moved AS (
    UPDATE events_numbering SET last_seq = last_seq + (SELECT count(*) FROM numbered) WHERE id = 1
)
SELECT count(*) FROM numbered
"""
