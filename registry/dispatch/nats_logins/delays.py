"""How long requests waited here, whatever the clock of their server says. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Longer than many logins at once take, so that one is remembered that did not wait.
_WINDOW_SECONDS = 60
_MOST_SERVERS = 64


@dataclass(slots=True)
class _Fastest:
    """The smallest difference in a window of time, and in the one before."""

    window: int
    least: float = math.inf
    before: float = math.inf


class Delays:
    """The delays of requests from each server, compared with the fastest of its recent requests."""

    def __init__(self) -> None:
        self._servers: dict[str, _Fastest] = {}

    def note(self, server_id: str, sent_at: float, now: float) -> float:
        """Return how long a request waited. sent_at: by its server's clock; now: by ours."""
        window = int(now // _WINDOW_SECONDS)
        if server_id not in self._servers and len(self._servers) >= _MOST_SERVERS:
            self._servers.clear()
        fastest = self._servers.setdefault(server_id, _Fastest(window))
        if fastest.window != window:
            before = fastest.least if fastest.window == window - 1 else math.inf
            fastest.window, fastest.least, fastest.before = window, math.inf, before
        fastest.least = min(fastest.least, now - sent_at)
        return now - sent_at - min(fastest.least, fastest.before)
