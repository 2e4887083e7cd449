"""The dispatcher: queues numbered events for the sinks that want them. One process at a time does so.

The deliveries of a batch and the cursors behind it are written in one transaction, so that a crash at any
point neither misses nor doubles an event. Paused and disabled sinks keep their cursors: the log is their
buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from controlplane.access.team_models import Team
from controlplane.database.locks import AdvisoryLock, try_lock
from controlplane.delivery.event_types import UNDELIVERED_KINDS
from controlplane.delivery.filters import SinkFilter, filter_from
from controlplane.delivery.flavours import Flavour, carries
from controlplane.delivery.kinds import channel_kind_names
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.models import Ordering, Sink, SinkState
from controlplane.delivery.origins import origin
from controlplane.events import log
from controlplane.events.audiences import kind_of
from controlplane.events.models import Event
from controlplane.ids import uuid7
from controlplane.messaging.failpoints import reach
from controlplane.scopes import SEGMENTS, Scope

BATCH = 500


class Queued(NamedTuple):
    """An event for a sink."""

    sink_id: UUID
    event: LoggedEvent
    key: str


def dispatch_batch() -> int:
    """Queue the next events for sinks; return how many events were looked at.

    Sinks with equal cursors are served together. Those that are furthest behind take turns with the others,
    so that a sink that catches up delays nobody.
    """
    looked_at = 0
    for cursor in _cursors():
        looked_at += _dispatch_after(cursor)
    return looked_at


def _cursors() -> list[int]:
    """Return the highest and the lowest cursor of active sinks."""
    rows = _followers()
    cursors = set(rows.order_by().values_list("cursor_seq", flat=True).distinct())
    return sorted({max(cursors), min(cursors)}, reverse=True) if cursors else []


def _followers() -> QuerySet[Sink]:
    """Return active sinks, without channels: those get messages of notifications alone.

    Sinks with a flavour of a later release are left to its processes.
    """
    rows = Sink.objects.filter(state=SinkState.ACTIVE, flavour__in=[*Flavour])
    return rows.exclude(kind__in=channel_kind_names())


def _dispatch_after(cursor: int) -> int:
    log.number_committed()
    with transaction.atomic():
        if not try_lock(AdvisoryLock.EVENT_DISPATCH):
            return 0
        sinks = _sinks_at(cursor)
        events = read_events(cursor, _limit_before_next(cursor)) if sinks else []
        if not events:
            return 0
        reach("events read")
        queue(_queued(sinks, events), replay=0)
        reach("deliveries queued")
        _move_cursors(sinks, events[-1].seq)
        reach("cursors moved")
    return len(events)


def _sinks_at(cursor: int) -> list[tuple[Sink, SinkFilter]]:
    rows = _followers().filter(cursor_seq=cursor)
    # A sink that somebody changes at this moment catches up later; the others do not wait for it.
    locked = rows.select_for_update(no_key=True, skip_locked=True, of=("self",)).order_by("id")
    return [(sink, filter_from(sink.filter)) for sink in locked]


def _limit_before_next(cursor: int) -> int:
    """Return how many events to read, so that sinks that catch up stop at the cursor of the others."""
    rows = _followers().filter(cursor_seq__gt=cursor)
    following = rows.order_by("cursor_seq").values_list("cursor_seq", flat=True).first()
    return BATCH if following is None else min(BATCH, following - cursor)


def read_events(after: int, limit: int) -> list[LoggedEvent]:
    """Return the numbered events after this number, with the names of their teams."""
    rows = list(Event.objects.numbered_after(after)[:limit])
    return with_teams(rows)


def with_teams(rows: Sequence[Event]) -> list[LoggedEvent]:
    """Return rows of the log as events."""
    ids = {row.team_id for row in rows if row.team_id}
    slugs = dict(Team.objects.filter(id__in=ids).values_list("id", "slug")) if ids else {}
    return [_logged(row, slugs.get(row.team_id, "") if row.team_id else "") for row in rows]


def _logged(row: Event, team: str) -> LoggedEvent:
    if row.seq is None:
        raise ValueError(f"The event {row.id} has no number yet.")
    return LoggedEvent(
        id=row.id,
        seq=row.seq,
        type=row.type,
        at=row.at,
        object_type=row.object_type,
        object_id=row.object_id,
        scope=Scope(**{name: getattr(row, name) for name in SEGMENTS}),
        team=team,
        team_id=row.team_id,
        actor=row.actor,
        request_id=row.request_id,
        data=row.data,
        traceparent=row.traceparent or "",
    )


def key_of(event: LoggedEvent, ordering: str) -> str:
    """Return the key whose events are sent one after the other."""
    if ordering == Ordering.NONE:
        return str(event.id)
    return event.object_key if ordering == Ordering.OBJECT else "/".join(event.scope.path)


def is_deliverable(event: LoggedEvent, flavour: Flavour = Flavour.NATIVE) -> bool:
    """Return whether sinks of the flavour get such events at all."""
    return kind_of(event.type) not in UNDELIVERED_KINDS and carries(flavour, event.type)


def _queued(sinks: Iterable[tuple[Sink, SinkFilter]], events: Sequence[LoggedEvent]) -> list[Queued]:
    deliverable = [event for event in events if is_deliverable(event)]
    from_here = origin()
    return [
        Queued(sink.id, event, key_of(event, sink.ordering))
        for sink, sink_filter in sinks
        for event in deliverable
        if carries(sink.format, event.type) and sink_filter.matches(event, from_here)
    ]


def queue(queued: Sequence[Queued], *, replay: int) -> None:
    """Write deliveries and their lanes. Those that exist already stay as they are."""
    if not queued:
        return
    # Sorted, so that the ids of a sink's deliveries are in the order of its events within a millisecond too.
    ids = sorted(uuid7() for _ in queued)
    columns = list(
        zip(
            *(
                (
                    delivery_id,
                    queued_event.sink_id,
                    queued_event.event.seq,
                    queued_event.event.id,
                    queued_event.event.type,
                    queued_event.key,
                )
                for delivery_id, queued_event in zip(ids, queued, strict=True)
            ),
            strict=True,
        )
    )
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE, [replay, *map(list, columns)])
        # After the deliveries: a relay that finds a lane empty holds its row until the lane is deleted.
        lanes = sorted({(queued_event.sink_id, queued_event.key) for queued_event in queued})
        sink_ids, keys = zip(*lanes, strict=True)
        cursor.execute(_OPEN_LANES, [replay, list(sink_ids), list(keys)])


def _move_cursors(sinks: Iterable[tuple[Sink, SinkFilter]], seq: int) -> None:
    Sink.objects.filter(id__in=[sink.id for sink, _ in sinks]).update(cursor_seq=seq)


_QUEUE = """
INSERT INTO delivery_delivery (id, sink_id, seq, event_id, type, key, replay)
SELECT given.*, %s FROM unnest(%s::uuid[], %s::uuid[], %s::bigint[], %s::uuid[], %s::text[], %s::text[])
    AS given (id, sink_id, seq, event_id, type, key)
ON CONFLICT (sink_id, event_id, replay) DO NOTHING
"""
# The update changes nothing but waits for whoever is about to delete the lane, and then makes a new one.
_OPEN_LANES = """
INSERT INTO delivery_lane (sink_id, key, replay)
SELECT given.sink_id, given.key, %s FROM unnest(%s::uuid[], %s::text[]) AS given (sink_id, key)
ON CONFLICT (sink_id, key, replay) DO UPDATE SET key = excluded.key
"""
