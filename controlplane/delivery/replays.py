"""Replays: a sink gets events of the past once more, with their old ids, after live events."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Min, Q
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.delivery.dispatcher import Queued, is_deliverable, key_of, queue, read_events
from controlplane.delivery.event_types import SINK_REPLAYED
from controlplane.delivery.filters import SinkFilter, filter_from
from controlplane.delivery.models import Delivery, DeliveryState, Replay, Sink, SinkState
from controlplane.delivery.origins import origin
from controlplane.errors import EventsGone
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.identity.actors import Actor

MOST_EVENTS = 100_000
_BATCH = 200
# Replayed deliveries wait in such numbers at most; the log has the rest.
_MOST_WAITING = 1_000


def number_before(since: Q) -> int:
    """Return the number after which all events pass this filter by time."""
    log.number_committed()
    # A minimum reads the months since then; in the order of numbers, it would read all.
    first = Event.objects.filter(since).aggregate(first=Min("seq"))["first"]
    return log.last_given() if first is None else first - 1


def check_kept(after: int) -> None:
    """Raise EventsGone if events after this number were archived and dropped."""
    dropped = log.dropped_number()
    if after < dropped:
        message = f"The oldest event that is kept is {dropped + 1}. Replay the events after {dropped}."
        raise EventsGone(message, oldest_seq=dropped + 1)


@transaction.atomic
def start_replay(sink: Sink, *, after: int, until: int | None, types: Sequence[str], actor: Actor) -> Replay:
    """Begin to queue the events after one number, up to and with another; None: up to now.

    Raises EventsGone if some of them were archived and dropped.
    """
    last = log.last_number()
    check_kept(after)
    end = last if until is None else min(until, last)
    replay = Replay.objects.create(
        sink=sink, cursor_seq=after, until_seq=end, types=list(types), remaining=MOST_EVENTS
    )
    audit.record(
        SINK_REPLAYED,
        "sink",
        str(sink.id),
        actor=actor,
        before=None,
        after=None,
        data={"sink": sink.name, "after": after, "until": end},
        team_id=sink.team_id,
    )
    replay.refresh_from_db()
    return replay


def replay_batch() -> int:
    """Queue the next events of each replay; return how many events were looked at."""
    running = Replay.objects.filter(ended_at=None, sink__state=SinkState.ACTIVE).order_by("id")
    return sum(_continue(replay_id) for replay_id in running.values_list("id", flat=True))


@transaction.atomic
def _continue(replay_id: int) -> int:
    rows = Replay.objects.select_for_update(skip_locked=True, of=("self",)).select_related("sink")
    replay = rows.filter(id=replay_id, ended_at=None).first()
    if replay is None or _waiting(replay.sink_id, replay_id) >= _MOST_WAITING:
        return 0
    events = [event for event in read_events(replay.cursor_seq, _BATCH) if event.seq <= replay.until_seq]
    wanted = _wanted(filter_from(replay.sink.filter), replay.types)
    here = origin()
    chosen = [
        Queued(replay.sink_id, event, key_of(event, replay.sink.ordering))
        for event in events
        if is_deliverable(event, replay.sink.format) and all(part.matches(event, here) for part in wanted)
    ][: replay.remaining]
    queue(chosen, replay=replay_id)
    replay.remaining -= len(chosen)
    replay.cursor_seq = events[-1].seq if events else replay.until_seq
    if replay.cursor_seq >= replay.until_seq or replay.remaining <= 0:
        replay.ended_at = Now()
    replay.save()
    return len(events)


def _wanted(of_sink: SinkFilter, types: Sequence[str]) -> tuple[SinkFilter, ...]:
    return (of_sink, SinkFilter(types=tuple(types)))


def _waiting(sink_id: UUID, replay_id: int) -> int:
    rows = Delivery.objects.filter(sink=sink_id, replay=replay_id, state=DeliveryState.WAITING)
    return rows[:_MOST_WAITING].count()
