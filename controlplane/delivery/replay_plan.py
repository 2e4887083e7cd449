"""What a replay would send, before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.delivery.audience import Audience
from controlplane.delivery.dispatcher import is_deliverable, read_events
from controlplane.delivery.filters import SinkFilter, filter_from
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.models import Sink
from controlplane.delivery.origins import origin
from controlplane.delivery.replays import check_kept
from controlplane.events import log

# Of the log. Reading them takes about a second.
MOST_COUNTED = 20_000
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """The events after one number, up to and with another, and how many of them would be sent.

    counted_until: the last event that was looked at; before `until` if there are too many to count.
    """

    after: int
    until: int
    matching: int
    counted_until: int

    @property
    def first(self) -> int:
        return self.after + 1

    @property
    def is_complete(self) -> bool:
        return self.counted_until >= self.until


def plan_replay(sink: Sink, *, after: int, until: int | None, types: Sequence[str]) -> ReplayPlan:
    """Count the events that `start_replay` with these parameters would have sent. Raises EventsGone."""
    last = log.last_number()
    check_kept(after)
    end = last if until is None else min(until, last)
    filters = (filter_from(sink.filter), SinkFilter(types=tuple(types)))
    here, audience = origin(), Audience()
    audience.refresh()

    def is_sent(event: LoggedEvent) -> bool:
        matches = is_deliverable(event) and all(part.matches(event, here) for part in filters)
        return matches and audience.shows(sink.created_by_id, event)

    matching, cursor = 0, after
    while cursor < end and cursor - after < MOST_COUNTED:
        events = [event for event in read_events(cursor, _BATCH) if event.seq <= end]
        if not events:
            cursor = end
            break
        matching += sum(map(is_sent, events))
        cursor = events[-1].seq
    return ReplayPlan(after, end, matching, cursor)
