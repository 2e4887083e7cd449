"""Does a running process still answer? Asked every few seconds, from a thread of its own."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from threading import Event, Thread

from controlplane.observability.hung_workers import patience

_PAUSE_SECONDS = 5.0
_TIMEOUT_SECONDS = 5.0
# Whoever has just been started needs time before its first answer.
_START_SECONDS = 60.0


class Probe:
    """Any answer of HTTP counts. seconds: of silence that are too many; doubled by each recent restart."""

    def __init__(self, url: str, *, seconds: float) -> None:
        self._url = url
        self._seconds = seconds
        self._silence = 0.0
        self._restarts: list[float] = []
        self._stopped = Event()

    def start(self) -> None:
        Thread(target=self._run, name="probe", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def is_silent(self) -> bool:
        return self._silence > self.allowed()

    def allowed(self) -> float:
        return patience(self._seconds, restarts=self._restarts, now=time.monotonic())

    def note_restart(self) -> None:
        """Count anew, with more patience."""
        self._restarts.append(time.monotonic())
        self.note_start()

    def note_start(self) -> None:
        self._silence = -_START_SECONDS

    def _run(self) -> None:
        while not self._stopped.wait(_PAUSE_SECONDS):
            began = time.monotonic()
            if self._answers():
                self._silence = 0.0
            else:
                # Without the time in which this process itself did not run.
                waited = min(time.monotonic() - began, _TIMEOUT_SECONDS)
                self._silence += waited + _PAUSE_SECONDS

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self._url, timeout=_TIMEOUT_SECONDS).close()  # noqa: S310  (our own address)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True
