"""Figures that are read from the database when somebody scrapes, once and not per process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from prometheus_client import Metric
from prometheus_client.registry import Collector

# Of organisations, each of which sees its own rows.
_MOST_READERS = 100


class Scrapes:
    """seconds: for which figures are kept, so that many scrapers cost as much as one."""

    def __init__(self, collectors: Iterable[Collector]) -> None:
        self._collectors = collectors
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, list[Metric]]] = {}

    def read(self, seconds: float, *, reader: str = "") -> list[Metric]:
        """Return all figures, at most so many seconds old. reader: figures of one are kept for no other."""
        with self._lock:
            read_at, figures = self._kept.get(reader, (float("-inf"), []))
            if time.monotonic() - read_at < seconds:
                return figures
            figures = [family for collector in self._collectors for family in collector.collect()]
            if len(self._kept) >= _MOST_READERS:
                self._kept.clear()
            self._kept[reader] = time.monotonic(), figures
            return figures
