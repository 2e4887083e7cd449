"""Log lines and traces: which trace a line belongs to, and few lines about a collector that is away."""

from __future__ import annotations

import logging
import time
from collections.abc import MutableMapping
from typing import Any

from controlplane.observability.trace_context import trace_of
from controlplane.observability.traces import spans

_PAUSE_SECONDS = 60.0


def add_trace(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the ids of the current span, if traces are on. A processor of structlog."""
    if spans.is_on():
        event.update(trace_of(spans.traceparent()))
    return event


class LessOften(logging.Filter):
    """Passes one line a minute of each module: the same failure would otherwise fill the log."""

    def __init__(self) -> None:
        super().__init__()
        self._passed_at: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now - self._passed_at.get(record.name, -_PAUSE_SECONDS) < _PAUSE_SECONDS:
            return False
        self._passed_at[record.name] = now
        return True
