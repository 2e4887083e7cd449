"""The load: keep-alive connections that send one request after the other, and measure each.

Plain sockets and epoll in a process of its own: a client library would be the slowest part of the test.
A run is bounded by its seconds, and a connection that breaks counts as an error and is opened again.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

_SPAWN = multiprocessing.get_context("spawn")
_READ = 256 * 1024


@dataclass(frozen=True, slots=True)
class Load:
    """requests: whole HTTP/1.1 requests, drawn at random. status: anything else is an error."""

    port: int
    requests: Sequence[bytes]
    connections: int
    seconds: float
    status: int = 200
    warm_up: float = 1.0
    cpus: tuple[int, ...] = ()
    in_order: bool = False


@dataclass(slots=True)
class Measured:
    answers: int = 0
    errors: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.answers / self.seconds if self.seconds else 0.0

    def percentile(self, share: float) -> float:
        """In milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 if ordered else 0.0


class Running:
    """A load under way in another process."""

    def __init__(self, load: Load) -> None:
        self._results, theirs = _SPAWN.Pipe(duplex=False)
        self._process = _SPAWN.Process(target=_work, args=(load, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._limit = load.warm_up + load.seconds + 30

    def result(self) -> Measured:
        if not self._results.poll(self._limit):
            self._process.kill()
            raise TimeoutError("The load has not ended.")
        measured: Measured = self._results.recv()
        self._process.join()
        return measured


def run(load: Load) -> Measured:
    return Running(load).result()


def _work(load: Load, connection: Connection) -> None:
    if load.cpus:
        os.sched_setaffinity(0, load.cpus)
    connection.send(_Client(load).run())


class _Client:
    def __init__(self, load: Load) -> None:
        self.load = load
        self.epoll = select.epoll()
        self.sockets: dict[int, socket.socket] = {}
        self.sent_at: dict[int, float] = {}
        self.partial: dict[int, bytes] = {}
        self.measured = Measured()
        self.next = 0
        self.good = b"HTTP/1.1 %d" % load.status

    def run(self) -> Measured:
        for _ in range(self.load.connections):
            self._open()
        begin = time.perf_counter() + self.load.warm_up
        end = begin + self.load.seconds
        measuring = False
        while (now := time.perf_counter()) < end:
            if not measuring and now >= begin:
                measuring, self.measured, begin = True, Measured(), now
            for descriptor, _ in self.epoll.poll(0.1):
                self._answered(descriptor)
        self.measured.seconds = time.perf_counter() - begin
        for connection in self.sockets.values():
            connection.close()
        return self.measured

    def _open(self) -> None:
        connection = socket.create_connection(("127.0.0.1", self.load.port), timeout=5)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        self.sockets[connection.fileno()] = connection
        self.epoll.register(connection.fileno(), select.EPOLLIN)
        self._send(connection.fileno())

    def _send(self, descriptor: int) -> None:
        requests = self.load.requests
        if self.load.in_order:
            request = requests[self.next % len(requests)]
            self.next += 1
        else:
            request = random.choice(requests)
        self.sent_at[descriptor] = time.perf_counter()
        self.sockets[descriptor].send(request)

    def _answered(self, descriptor: int) -> None:
        try:
            data = self.sockets[descriptor].recv(_READ)
        except OSError:
            data = b""
        if not data:
            return self._broken(descriptor)
        if descriptor in self.partial:
            data = self.partial.pop(descriptor) + data
        if not _is_complete(data):
            self.partial[descriptor] = data
            return None
        if data.startswith(self.good):
            self.measured.answers += 1
            self.measured.latencies.append(time.perf_counter() - self.sent_at[descriptor])
        else:
            self.measured.errors += 1
        try:
            self._send(descriptor)
        except OSError:
            self._broken(descriptor)
        return None

    def _broken(self, descriptor: int) -> None:
        self.measured.errors += 1
        self.partial.pop(descriptor, None)
        self.sockets.pop(descriptor).close()
        self._open()


def _is_complete(data: bytes) -> bool:
    """True if the head is there, and as many bytes of body as it announces. In chunks nothing may come."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return False
    at = data.find(b"content-length: ", 0, end)
    if at < 0:
        return True
    return len(data) - end - 4 >= int(data[at + 16 : data.index(b"\r\n", at)])
