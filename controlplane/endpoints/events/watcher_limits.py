"""How many streams and long polls a process holds open, in total and for each principal."""

from __future__ import annotations

from collections import Counter

from django.conf import settings
from prometheus_client import Gauge

WATCHERS = Gauge("cp_watchers", "Open event streams and long polls.", multiprocess_mode="livesum")


class WatcherLimits:
    """One for each process: all kinds of watchers share it."""

    def __init__(self) -> None:
        self._by_principal: Counter[str] = Counter()
        self.total = 0

    def enter(self, principal: str) -> bool:
        """Count one more watcher; False if there are too many."""
        if (
            self._by_principal[principal] >= settings.WATCHERS_PER_PRINCIPAL
            or self.total >= settings.WATCHERS_PER_WORKER
        ):
            return False
        self._by_principal[principal] += 1
        self.total += 1
        WATCHERS.inc()
        return True

    def leave(self, principal: str) -> None:
        self._by_principal[principal] -= 1
        if not self._by_principal[principal]:
            del self._by_principal[principal]
        self.total -= 1
        WATCHERS.dec()
