"""How long to wait before the next try. Pure: chance is an argument."""

from __future__ import annotations

from dataclasses import dataclass

# Whatever a server asks for, it is asked again after this.
_MAX_RETRY_AFTER = 120.0


@dataclass(frozen=True, slots=True)
class WatchTiming:
    """Seconds. first, longest: of waits; relist: at most between two lists; empty: before an empty list is
    asked for again; watch: how long one watch is asked for; connect, answer: limits of one request.
    """

    initial_delay: float = 0.5
    max_delay: float = 30.0
    relist_interval: float = 300.0
    empty_list_delay: float = 2.0
    watch_seconds: float = 240.0
    connect_timeout: float = 5.0
    response_timeout: float = 30.0

    def delay(self, failures: int, *, chance: float, retry_after: float = 0.0) -> float:
        """Before the next try after so many failures: doubled each time, and half of it by chance (0 to 1),
        so that watchers whom one fault hit do not come back together. asked: by the server (Retry-After).
        """
        if failures < 1:
            return 0.0
        whole = min(self.initial_delay * 2.0 ** min(failures - 1, 30), self.max_delay)
        return max(whole * (0.5 + chance / 2), min(retry_after, _MAX_RETRY_AFTER))
