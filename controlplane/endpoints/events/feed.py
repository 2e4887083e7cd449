"""The newest events, read once for all watchers of a process.

It reads only while somebody watches: ten small reads a second, whether there is one watcher or ten thousand.
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
from controlplane.events.stream_protocol import Told, as_text
from controlplane.scopes import Scope

_PAUSE_SECONDS = 0.1
_PAUSE_AFTER_FAILURE_SECONDS = 1.0
_AT_ONCE = 1000
# A watcher that is further behind reads from the database.
_KEPT = 10_000
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class News:
    """last: the last number given. access: changes when tokens or roles do."""

    last: int
    access: str
    told: list[Told]


class Feed:
    """`news` is set, and replaced, whenever there is something new for watchers."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="feed")
        self._kept: deque[Told] = deque(maxlen=_KEPT)
        self._task: asyncio.Task[None] | None = None
        self._watchers = 0
        self.last: int | None = None
        self.access = ""
        self.news = asyncio.Event()

    def join(self) -> None:
        if self._watchers == 0:
            self._forget()
        self._watchers += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._read_on())

    def leave(self) -> None:
        self._watchers -= 1

    def is_ahead_of(self, after: int) -> bool:
        """True if it knows of something after this number. A watcher may know more than we, for a moment."""
        return self.last is not None and self.last > after

    def reaches_back_to(self, after: int) -> bool:
        """True if all that came after this number is kept."""
        return bool(self._kept) and self._kept[0].seq <= after + 1

    def since(self, after: int) -> Iterator[Told]:
        """What came after; numbers have no gaps, so the place is known. Ask `reaches_back_to` before."""
        skipped = after + 1 - self._kept[0].seq if self._kept else 0
        return islice(self._kept, max(skipped, 0), None)

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._thread.shutdown(wait=False)

    async def _read_on(self) -> None:
        loop = asyncio.get_running_loop()
        while self._watchers > 0:
            try:
                news = await loop.run_in_executor(self._thread, _read, self.last)
            except Exception as error:  # the database is away; watchers go on waiting
                log.warning("events.feed_lost", error=str(error).strip())
                await asyncio.sleep(_PAUSE_AFTER_FAILURE_SECONDS)
                continue
            self._take(news)
            if len(news.told) < _AT_ONCE:
                await asyncio.sleep(_PAUSE_SECONDS)

    def _forget(self) -> None:
        """Whoever comes after a time without watchers begins with what is newest then."""
        self._kept.clear()
        self.last = None

    def _take(self, news: News) -> None:
        if self.last is None or news.last < self.last:  # the first look, or a restored database
            self._kept.clear()
            self.last = news.last
        elif news.told:
            self._kept.extend(news.told)
            self.last = news.told[-1].seq
        elif news.access == self.access:
            return
        self.access = news.access
        told, self.news = self.news, asyncio.Event()
        told.set()


def _read(after: int | None) -> News:
    """In the feed's thread."""
    close_old_connections()
    try:
        number_committed()
        events = [] if after is None else list(Event.objects.numbered_after(after)[:_AT_ONCE])
        with connection.cursor() as cursor:
            # After the events: who lost a right before one of them was written must not be told of it.
            cursor.execute(_NEWEST)
            last, access = cursor.fetchone()
        return News(last, access, [_told(one) for one in events])
    finally:
        close_old_connections()


def _told(event: Event) -> Told:
    scope = Scope(event.domain, event.project, event.workflow, event.launch_plan)
    seq = event.seq or 0
    text = as_text(seq, event.type, show_event(event))
    teams = teams_in(event.data)
    return Told(seq, event.type, event.object_type, event.object_id, scope, teams, text)


_NEWEST = """
SELECT (SELECT last_seq FROM events_numbering WHERE id = 1), (SELECT epoch::text FROM access_epoch)
"""
