"""Pauses after failures: one request tries again now and then, and the others do not wait for it."""

from __future__ import annotations

import threading


class Pause:
    """Whether to try something that has failed. seconds: between two tries while it fails."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._next_try: float | None = None

    def allows(self, now: float) -> bool:
        """Return whether to try now; of several callers at the end of a pause, one may."""
        if self._next_try is None:
            return True
        with self._lock:
            if self._next_try is None:
                return True
            if now < self._next_try:
                return False
            self._next_try = now + self._seconds
            return True

    def fail(self, now: float) -> bool:
        """Begin a pause; return whether it is the first one."""
        with self._lock:
            is_first, self._next_try = self._next_try is None, now + self._seconds
            return is_first

    def succeed(self) -> None:
        self._next_try = None
