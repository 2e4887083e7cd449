"""The loop that queues events for sinks, and looks after queues that are too long."""

from __future__ import annotations

import threading
import time

from controlplane.delivery.dispatcher import dispatch_batch
from controlplane.delivery.replays import replay_batch
from controlplane.delivery.stopping import pause_overflowing
from controlplane.messaging.loops import repeat

_SHORT_PAUSE, _LONGEST_PAUSE = 0.1, 1.0
_OVERFLOW_SECONDS = 10.0


def dispatch_events(stop: threading.Event) -> None:
    """Dispatch until `stop`. Any number of processes may run this; one of them works at a time."""
    repeat(_Dispatching().step, stop)


class _Dispatching:
    def __init__(self) -> None:
        self._pause = _SHORT_PAUSE
        self._look_at = 0.0

    def step(self) -> float:
        if time.monotonic() >= self._look_at:
            pause_overflowing()
            self._look_at = time.monotonic() + _OVERFLOW_SECONDS
        # Live events before replayed ones.
        if dispatch_batch() or replay_batch():
            self._pause = _SHORT_PAUSE
            return 0
        self._pause = min(1.5 * self._pause, _LONGEST_PAUSE)
        return self._pause
