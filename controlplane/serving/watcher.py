"""The watch over web workers: stops those that hang, which the supervisor then replaces."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

from controlplane.observability.hung_workers import add_silence, hung_workers, patience
from controlplane.serving.worker_signals import open_receiver, receive

_CHECK_SECONDS = 0.5
# Time to log the stacks of all threads before the worker is killed.
_ABORT_SECONDS = 2.0


class Watcher:
    """seconds: the longest silence of a worker. Signs of life are received from its construction on."""

    def __init__(self, seconds: float) -> None:
        self._receiver = open_receiver()
        self._seconds = seconds
        self._silences: dict[int, float] = {}
        self._restarts: list[float] = []
        self._checked_at = time.monotonic()

    def watch(self, seconds: float, woken: int) -> None:
        """Listen for a time, or until `woken` is readable; then stop workers that hang."""
        heard = self._listen(seconds, woken)
        now = time.monotonic()
        counted = add_silence(self._silences, heard, elapsed=now - self._checked_at)
        self._silences = {worker: silence for worker, silence in counted.items() if _is_child(worker)}
        self._checked_at = now
        self._end_hung(now)

    def _listen(self, seconds: float, woken: int) -> set[int]:
        until = time.monotonic() + seconds
        heard = set()
        while (left := until - time.monotonic()) > 0:
            readable, _, _ = select.select([self._receiver.fileno(), woken], [], [], left)
            if self._receiver.fileno() in readable and (worker := receive(self._receiver)) is not None:
                heard.add(worker)
            if woken in readable:
                break
        return heard

    def _end_hung(self, now: float) -> None:
        allowed = patience(self._seconds, restarts=self._restarts, now=now)
        for worker in hung_workers(self._silences, patience=allowed):
            log(f"Web worker {worker} did not respond for {allowed:g} s and was stopped.", worker=worker)
            self._restarts.append(now)
            _end(worker)


def _end(worker: int) -> None:
    _send(worker, signal.SIGABRT)
    until = time.monotonic() + _ABORT_SECONDS
    while _is_child(worker) and time.monotonic() < until:
        time.sleep(0.05)
    _send(worker, signal.SIGKILL)


def _send(worker: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        if _is_child(worker):
            os.kill(worker, number)


def _is_child(process: int) -> bool:
    """True for a running child of this process, whose process id cannot have been reused."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] not in ("Z", "X") and int(fields[1]) == os.getpid()


def log(event: str, **facts: int) -> None:
    """Write a line of JSON, as in the workers' log, unbuffered because the process may fork at any time."""
    at = datetime.now(UTC).isoformat()
    os.write(2, json.dumps({"event": event, **facts, "level": "error", "timestamp": at}).encode() + b"\n")
