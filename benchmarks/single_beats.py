"""Single heartbeats measured in short windows, so that those beside a sweep can be told from the others."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from benchmarks.load import _SPAWN, Load, Measured, _Client

_WINDOW = 0.25


@dataclass(frozen=True, slots=True)
class Window:
    """began, ended: as time.time() has it."""

    began: float
    ended: float
    measured: Measured


class WindowedLoad:
    """A load in another process, until it is stopped or its seconds are over."""

    def __init__(self, load: Load) -> None:
        self._connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_work, args=(load, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._limit = load.seconds + 30

    def stop(self) -> list[Window]:
        """Return its windows."""
        self._connection.send("stop")
        if not self._connection.poll(self._limit):
            self._process.kill()
            raise TimeoutError("The load has not ended.")
        windows: list[Window] = self._connection.recv()
        self._process.join()
        return windows


def merged(windows: Sequence[Window]) -> Measured:
    """Return all windows as one measurement."""
    return Measured(
        sum(window.measured.answers for window in windows),
        sum(window.measured.errors for window in windows),
        sum(window.ended - window.began for window in windows),
        [latency for window in windows for latency in window.measured.latencies],
    )


def _work(load: Load, connection: Connection) -> None:
    if load.cpus:
        os.sched_setaffinity(0, load.cpus)
    connection.send(_WindowedClient(load).run_windows(connection))


class _WindowedClient(_Client):
    def run_windows(self, stop: Connection) -> list[Window]:
        windows: list[Window] = []
        for _ in range(self.load.connections):
            self._open()
        end = time.time() + self.load.seconds
        began = time.time()
        while (now := time.time()) < end and not stop.poll():
            for descriptor, _ in self.epoll.poll(0.1):
                self._answered(descriptor)
            if now - began >= _WINDOW:
                windows.append(Window(began, now, self.measured))
                self.measured, began = Measured(), now
        for connection in self.sockets.values():
            connection.close()
        # The first second warms up.
        return windows[int(1 / _WINDOW) :]
