"""Metrics of calls that are answered from memory, in the same counters as those of all other calls.

They are counted in memory and written twice a second: a write of each goes to a file that processes share.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from dataclasses import dataclass, field

from prometheus_client import Counter

from overrides.flyte.calls import CALLS, DURATION

READY = Counter("cp_flyte_ready_answers_total", "Calls over gRPC answered from memory.")
_PAUSE_SECONDS = 0.5
_BOUNDS = tuple(DURATION._upper_bounds)


@dataclass(slots=True)
class _Totals:
    seconds: float = 0.0
    by_bucket: list[int] = field(default_factory=lambda: [0] * len(_BOUNDS))


class CallTotals:
    """transport: of the calls. Must be used in a running event loop."""

    def __init__(self, transport: str) -> None:
        self._transport = transport
        self._totals: dict[tuple[str, str], _Totals] = {}
        self._ready = 0
        self._is_scheduled = False

    def count_ready(self) -> None:
        """Count an answer from memory. `count` follows."""
        self._ready += 1

    def count(self, rpc: str, code: str, seconds: float) -> None:
        totals = self._totals.get((rpc, code))
        if totals is None:
            totals = self._totals[rpc, code] = _Totals()
        totals.seconds += seconds
        totals.by_bucket[bisect_left(_BOUNDS, seconds)] += 1
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.write)

    def write(self) -> None:
        self._is_scheduled = False
        READY.inc(self._ready)
        self._ready = 0
        written, self._totals = self._totals, {}
        for (rpc, code), totals in written.items():
            CALLS.labels(rpc, self._transport, code).inc(sum(totals.by_bucket))
            duration = DURATION.labels(rpc, self._transport)
            # Histogram.observe for many values.
            duration._sum.inc(totals.seconds)
            for bucket, count in zip(duration._buckets, totals.by_bucket, strict=True):
                if count:
                    bucket.inc(count)
