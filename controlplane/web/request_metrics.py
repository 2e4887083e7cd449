"""Metrics of the fast paths, in the same counters as Django's requests.

They are counted in memory and written twice a second: with several processes each write goes to a shared
file, and three writes per request would cost more than the response.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from dataclasses import dataclass, field

from prometheus_client import Counter

from controlplane.observability.metrics import DURATION, REQUESTS
from controlplane.observability.request_labels import class_of, labels_of, timed_route

_PAUSE_SECONDS = 0.5
READS = Counter(
    "cp_effective_reads_total",
    "Reads of effective values by outcome: answered from cache, computed, or left to Django.",
    ["outcome"],
)
DROPPED = Counter(
    "cp_effective_answers_dropped_total", "Cached effective values dropped because of a change."
)


# The upper bounds of the histogram's buckets, including infinity.
_BOUNDS = tuple(DURATION._upper_bounds)


@dataclass(slots=True)
class _RequestTotals:
    """Requests with one method and status since the last write."""

    seconds: float = 0.0
    by_bucket: list[int] = field(default_factory=lambda: [0] * len(_BOUNDS))


class RequestMetrics:
    """route: as Django's resolver names it. outcomes: what `count` counts."""

    def __init__(self, route: str, outcomes: Counter = READS) -> None:
        self.route = route
        self._outcomes = outcomes
        self._requests: dict[tuple[str, int], _RequestTotals] = {}
        self._counts: dict[str, int] = {}
        self._dropped = 0
        self._is_scheduled = False

    def record_response(self, method: str, status: int, seconds: float) -> None:
        requests = self._requests.get((method, status))
        if requests is None:
            requests = self._requests[method, status] = _RequestTotals()
        requests.seconds += seconds
        requests.by_bucket[bisect_left(_BOUNDS, seconds)] += 1
        if not self._is_scheduled:
            self._schedule()

    def count(self, outcome: str) -> None:
        self._counts[outcome] = self._counts.get(outcome, 0) + 1
        if not self._is_scheduled:
            self._schedule()

    def count_dropped(self, answers: int) -> None:
        self._dropped += answers
        if not self._is_scheduled:
            self._schedule()

    def write(self) -> None:
        self._is_scheduled = False
        DROPPED.inc(self._dropped)
        self._dropped = 0
        for outcome, count in self._counts.items():
            self._outcomes.labels(outcome).inc(count)
        self._counts.clear()
        for (method, status), requests in self._requests.items():
            label, route = labels_of(method, self.route, status)
            REQUESTS.labels(label, route, class_of(status)).inc(sum(requests.by_bucket))
            duration = DURATION.labels(label, timed_route(route))
            # Histogram.observe for many values.
            duration._sum.inc(requests.seconds)
            for bucket, count in zip(duration._buckets, requests.by_bucket, strict=True):
                if count:
                    bucket.inc(count)
        self._requests.clear()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.write)
