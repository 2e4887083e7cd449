"""Feed of the newest events, read once for all watchers of a process.

It reads only while there are watchers: ten small reads per second, for one watcher or ten thousand.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import structlog
from django.db import close_old_connections, connection

from controlplane.endpoints.events.schemas import show_event
from controlplane.events.event_filter import teams_in
from controlplane.events.log import number_committed
from controlplane.events.models import Event
from controlplane.events.stream_protocol import StreamedEvent, as_text
from controlplane.scopes import Scope

_PAUSE_SECONDS = 0.1
_PAUSE_AFTER_FAILURE_SECONDS = 1.0
_AT_ONCE = 1000
# Events in memory; a watcher that is further behind reads from the database.
_BUFFER_SIZE = 10_000
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FeedUpdate:
    """Events since the last read. last: the last number. access: changes whenever tokens or roles do."""

    last: int
    access: str
    events: list[StreamedEvent]


class Feed:
    """Buffers the newest events. `changed` is set and replaced whenever there are new ones."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="feed")
        self._events: deque[StreamedEvent] = deque(maxlen=_BUFFER_SIZE)
        self._task: asyncio.Task[None] | None = None
        self._watchers = 0
        self.last: int | None = None
        self.access = ""
        self.changed = asyncio.Event()

    def join(self) -> None:
        if self._watchers == 0:
            self._clear()
        self._watchers += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def leave(self) -> None:
        self._watchers -= 1

    def is_ahead_of(self, after: int) -> bool:
        """True if there are events after this number. A watcher may be ahead of the feed for a moment."""
        return self.last is not None and self.last > after

    def reaches_back_to(self, after: int) -> bool:
        """True if all events after this number are in the buffer."""
        return bool(self._events) and self._events[0].seq <= after + 1

    def since(self, after: int) -> Iterator[StreamedEvent]:
        """Return the events after this number, which have no gaps. Check `reaches_back_to` first."""
        skipped = after + 1 - self._events[0].seq if self._events else 0
        return islice(self._events, max(skipped, 0), None)

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._thread.shutdown(wait=False)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._watchers > 0:
            try:
                update = await loop.run_in_executor(self._thread, _read, self.last)
            except Exception as error:  # the database is unreachable; watchers keep waiting
                log.warning("events.feed_lost", error=str(error).strip())
                await asyncio.sleep(_PAUSE_AFTER_FAILURE_SECONDS)
                continue
            self._apply(update)
            if len(update.events) < _AT_ONCE:
                await asyncio.sleep(_PAUSE_SECONDS)

    def _clear(self) -> None:
        """Clear the buffer: after a time without watchers, the feed begins with the newest event."""
        self._events.clear()
        self.last = None

    def _apply(self, update: FeedUpdate) -> None:
        if self.last is None or update.last < self.last:  # the first read, or a restored database
            self._events.clear()
            self.last = update.last
        elif update.events:
            self._events.extend(update.events)
            self.last = update.events[-1].seq
        elif update.access == self.access:
            return
        self.access = update.access
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


def _read(after: int | None) -> FeedUpdate:
    """Read new events, in the feed's thread."""
    close_old_connections()
    try:
        number_committed()
        events = [] if after is None else list(Event.objects.numbered_after(after)[:_AT_ONCE])
        with connection.cursor() as cursor:
            # Read after the events: a caller who lost a permission before an event must not receive it.
            cursor.execute(_NEWEST)
            last, access = cursor.fetchone()
        return FeedUpdate(last, access, [_streamed_event(event) for event in events])
    finally:
        close_old_connections()


def _streamed_event(event: Event) -> StreamedEvent:
    scope = Scope(event.domain, event.project, event.workflow, event.launch_plan)
    seq = event.seq or 0
    text = as_text(seq, event.type, show_event(event))
    teams = teams_in(event.data)
    kind = (event.type, event.object_type, event.object_id)
    return StreamedEvent(seq, *kind, scope, teams, text, event.team_id)


_NEWEST = """
SELECT (SELECT last_seq FROM events_numbering WHERE id = 1), (SELECT epoch::text FROM access_epoch)
"""
