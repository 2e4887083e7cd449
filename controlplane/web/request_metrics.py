"""Metrics of the fast paths, in the counters that Django's requests are counted in.

Counted in memory and written twice a second: with several processes each write goes into a shared file,
and three of them per request would cost more than the answer.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from dataclasses import dataclass, field

from prometheus_client import Counter

from controlplane.observability.metrics import DURATION, REQUESTS

_PAUSE_SECONDS = 0.5
READS = Counter(
    "cp_effective_reads_total",
    "Reads of effective values beside Django: ready answers, computed ones, and those left to Django.",
    ["outcome"],
)
DROPPED = Counter("cp_effective_answers_dropped_total", "Ready answers that a change has made stale.")


# The upper bounds of the histogram's buckets, the endless one included.
_BOUNDS = tuple(DURATION._upper_bounds)


@dataclass(slots=True)
class _Requests:
    """Requests with one method and one class of status since the last write."""

    seconds: float = 0.0
    by_bucket: list[int] = field(default_factory=lambda: [0] * len(_BOUNDS))


class RequestMetrics:
    """route: as Django's resolver names it. outcomes: what `count` counts."""

    def __init__(self, route: str, outcomes: Counter = READS) -> None:
        self._route = route
        self._outcomes = outcomes
        self._requests: dict[tuple[str, int], _Requests] = {}
        self._counts: dict[str, int] = {}
        self._dropped = 0
        self._planned = False

    def answered(self, method: str, status: int, seconds: float) -> None:
        requests = self._requests.get((method, status))
        if requests is None:
            requests = self._requests[method, status] = _Requests()
        requests.seconds += seconds
        requests.by_bucket[bisect_left(_BOUNDS, seconds)] += 1
        if not self._planned:
            self._plan()

    def count(self, outcome: str) -> None:
        self._counts[outcome] = self._counts.get(outcome, 0) + 1
        if not self._planned:
            self._plan()

    def dropped(self, answers: int) -> None:
        self._dropped += answers
        if not self._planned:
            self._plan()

    def write(self) -> None:
        self._planned = False
        DROPPED.inc(self._dropped)
        self._dropped = 0
        for outcome, number in self._counts.items():
            self._outcomes.labels(outcome).inc(number)
        self._counts.clear()
        for (method, status), requests in self._requests.items():
            REQUESTS.labels(method, self._route, f"{status // 100}xx").inc(sum(requests.by_bucket))
            duration = DURATION.labels(method, self._route)
            # What Histogram.observe does, for many at once.
            duration._sum.inc(requests.seconds)
            for bucket, number in zip(duration._buckets, requests.by_bucket, strict=True):
                if number:
                    bucket.inc(number)
        self._requests.clear()

    def _plan(self) -> None:
        self._planned = True
        asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.write)
