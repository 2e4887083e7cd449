"""Timing of requests to a cluster, with backoff; randomness is an argument. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# The maximum delay that a server's Retry-After can cause.
_MAX_RETRY_AFTER = 120.0


@dataclass(frozen=True, slots=True)
class WatchTiming:
    """Durations in seconds. initial_delay, max_delay: of retries; relist_interval: maximum between two lists;
    empty_list_delay: before an empty list is repeated; watch_seconds: of one watch.
    """

    initial_delay: float = 0.5
    max_delay: float = 30.0
    relist_interval: float = 300.0
    empty_list_delay: float = 2.0
    watch_seconds: float = 240.0
    connect_timeout: float = 5.0
    response_timeout: float = 30.0

    def delay(self, failures: int, *, chance: float, retry_after: float = 0.0) -> float:
        """Return the delay after a number of failures: doubled each time, and half of it random, so that
        watchers do not retry at the same time. chance: from 0 to 1; retry_after: from the server.
        """
        if failures < 1:
            return 0.0
        whole = min(self.initial_delay * 2.0 ** min(failures - 1, 30), self.max_delay)
        return max(whole * (0.5 + chance / 2), min(retry_after, _MAX_RETRY_AFTER))
