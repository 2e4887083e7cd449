"""A thread beside granian's main loop that stops hung workers, which granian then replaces."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

from controlplane.observability.hung_workers import add_silence, hung_workers, patience
from controlplane.serving.worker_signals import open_receiver, receive

_CHECK_SECONDS = 0.5
# Time to log the stacks of all threads before the worker is killed.
_ABORT_SECONDS = 2.0


def watch_workers(seconds: float) -> None:
    """Start to watch. seconds: the longest silence of a worker."""
    watcher = _Watcher(open_receiver(), seconds)
    Thread(target=watcher.run, name="watcher", daemon=True).start()


class _Watcher:
    def __init__(self, receiver: socket.socket, seconds: float) -> None:
        self._receiver = receiver
        self._seconds = seconds
        self._silences: dict[int, float] = {}
        self._restarts: list[float] = []

    def run(self) -> None:
        checked_at = time.monotonic()
        while True:
            heard = self._listen()
            now = time.monotonic()
            counted = add_silence(self._silences, heard, elapsed=now - checked_at)
            self._silences = {worker: silence for worker, silence in counted.items() if _is_child(worker)}
            checked_at = now
            self._end_hung(now)

    def _listen(self) -> set[int]:
        until = time.monotonic() + _CHECK_SECONDS
        heard = set()
        while (left := until - time.monotonic()) > 0:
            worker = receive(self._receiver, seconds=left)
            if worker is not None:
                heard.add(worker)
        return heard

    def _end_hung(self, now: float) -> None:
        allowed = patience(self._seconds, restarts=self._restarts, now=now)
        for worker in hung_workers(self._silences, patience=allowed):
            _log(f"Web worker {worker} did not respond for {allowed:g} s and was stopped.", worker=worker)
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


def _log(event: str, **facts: int) -> None:
    """Write a line of JSON, as in the workers' log, unbuffered because the process may fork at any time."""
    at = datetime.now(UTC).isoformat()
    os.write(2, json.dumps({"event": event, **facts, "level": "error", "timestamp": at}).encode() + b"\n")
