"""Metrics of connections to Postgres, by what uses them. No connection is shared between kinds.

What uses them knows how many it may use at once, how many are in use, and who waits for one. It is counted in
memory and written twice a second, as requests are.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left

from prometheus_client import Gauge, Histogram

_PAUSE_SECONDS = 0.5
IN_USE = Gauge(
    "cp_db_pool_in_use",
    "Connections to Postgres in use, of those kept for a kind of work.",
    ["kind"],
    multiprocess_mode="livesum",
)
MOST = Gauge(
    "cp_db_pool_max",
    "Connections to Postgres that a kind of work may use at once.",
    ["kind"],
    multiprocess_mode="livesum",
)
WAITS = Histogram(
    "cp_db_wait_seconds",
    "How long requests waited for a connection to Postgres, or for the thread that has it.",
    ["kind"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2.5),
)
_BOUNDS = tuple(WAITS._upper_bounds)


class ConnectionUse:
    """Connections of one kind in this process. most: at once. For one event loop."""

    def __init__(self, kind: str, most: int) -> None:
        self._in_use, self._waits = IN_USE.labels(kind), WAITS.labels(kind)
        self._most = MOST.labels(kind)
        self._limit = most
        self._users = 0
        self._seconds = 0.0
        self._by_bucket = [0] * len(_BOUNDS)
        self._is_scheduled = False

    def begin(self) -> None:
        """Note somebody who uses a connection, or waits for one."""
        self._users += 1
        if not self._is_scheduled:
            self._schedule()

    def end(self) -> None:
        self._users -= 1
        if not self._is_scheduled:
            self._schedule()

    def wait(self, seconds: float) -> None:
        """Note how long somebody waited who uses a connection now."""
        self._seconds += seconds
        self._by_bucket[bisect_left(_BOUNDS, seconds)] += 1

    def write(self) -> None:
        self._is_scheduled = False
        self._most.set(self._limit)
        self._in_use.set(min(self._users, self._limit))
        self._waits._sum.inc(self._seconds)
        self._seconds = 0.0
        for number, count in enumerate(self._by_bucket):
            if count:
                self._waits._buckets[number].inc(count)
                self._by_bucket[number] = 0

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.write)
