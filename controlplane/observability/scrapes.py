"""Figures that are read from the database when somebody scrapes, once and not per process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from prometheus_client import Metric

# Of organisations, each of which sees its own rows.
_MOST_READERS = 100


class Scrapes:
    """Keeps figures for some seconds, so that many scrapers cost as much as one. read: reads them again."""

    def __init__(self, read: Callable[[], list[Metric]]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, list[Metric]]] = {}

    def read(self, seconds: float, *, reader: str = "") -> list[Metric]:
        """Return all figures, not older than the limit in seconds. Each reader has its own cache."""
        with self._lock:
            read_at, figures = self._kept.get(reader, (float("-inf"), []))
            if time.monotonic() - read_at < seconds:
                return figures
            figures = self._read()
            if len(self._kept) >= _MOST_READERS:
                self._kept.clear()
            self._kept[reader] = time.monotonic(), figures
            return figures
