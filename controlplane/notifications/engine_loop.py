"""The loop of the engine of notifications."""

from __future__ import annotations

import threading

from controlplane.messaging.loops import repeat
from controlplane.notifications.engine import Engine

_SHORT_PAUSE, _LONGEST_PAUSE = 0.1, 1.0


def notify(stop: threading.Event) -> None:
    """Send notifications until `stop`. Any number of processes may run this; one of them works at a time."""
    repeat(_Notifying().step, stop)


class _Notifying:
    def __init__(self) -> None:
        self._engine = Engine()
        self._pause = _SHORT_PAUSE

    def step(self) -> float:
        done = self._engine.step()
        if done.events or done.messages:
            self._pause = _SHORT_PAUSE
            return 0
        self._pause = min(1.5 * self._pause, _LONGEST_PAUSE)
        return self._pause
