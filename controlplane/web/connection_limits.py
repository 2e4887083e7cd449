"""Limits in time for connections: heads, bodies, responses that nobody reads, and idle connections.

One look a second at all connections costs less than a timer for each request.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import IntEnum
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings

_PAUSE_SECONDS = 1.0
# A body must arrive at least this fast, after the seconds that each has.
_BYTES_PER_SECOND = 16 * 1024


class Phase(IntEnum):
    """What a connection reads, or does."""

    IDLE = 0
    HEAD = 1
    BODY = 2
    ANSWERING = 3


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. idle: between requests. unread: for which a client may leave a response unread."""

    idle: float
    head: float = 10.0
    body: float = 30.0
    unread: float = 60.0

    def allow(self, phase: Phase, seconds: float, *, is_answering: bool, read: int) -> bool:
        """Return whether a connection may stay in a phase. read: bytes of the body so far.

        is_answering: a response is owed. Then the next request may take its time.
        """
        match phase:
            case Phase.IDLE:
                return is_answering or seconds < self.idle
            case Phase.HEAD:
                return is_answering or seconds < self.head
            case Phase.BODY:
                return seconds < self.body + read / _BYTES_PER_SECOND
            case Phase.ANSWERING:
                return True


class ConnectionLimits:
    """Watches the connections of one server. now: the time of the last look, near enough for limits."""

    _of_servers: WeakKeyDictionary[Any, ConnectionLimits] = WeakKeyDictionary()

    def __init__(self, connections: set[Any], loop: asyncio.AbstractEventLoop, limits: Limits) -> None:
        self._connections, self._loop, self._limits = connections, loop, limits
        self._unread_since: dict[Any, float] = {}
        self._is_watching = False
        self.now = loop.time()

    @classmethod
    def of(cls, server_state: Any, loop: asyncio.AbstractEventLoop) -> ConnectionLimits:
        """Return the limits of a server, which all its connections share."""
        limits = cls._of_servers.get(server_state)
        if limits is None:
            limits = cls(server_state.connections, loop, Limits(settings.WEB_KEEP_ALIVE_SECONDS))
            cls._of_servers[server_state] = limits
        return limits

    def watch(self) -> None:
        """Watch for as long as there are connections."""
        if not self._is_watching:
            self._is_watching, self.now = True, self._loop.time()
            self._loop.call_later(_PAUSE_SECONDS, self._look)

    def _look(self) -> None:
        now = self.now = self._loop.time()
        unread = {connection for connection in self._connections if connection.flow.write_paused}
        self._unread_since = {each: self._unread_since.get(each, now) for each in unread}
        try:
            for connection in list(self._connections):
                self._check(connection, now)
        finally:
            self._is_watching = False
            if self._connections:
                self.watch()

    def _check(self, connection: Any, now: float) -> None:
        unread_since = self._unread_since.get(connection)
        if unread_since is not None and now - unread_since > self._limits.unread:
            connection.transport.abort()
            return
        if connection.flow.read_paused or connection.flow.held:
            connection.restart_timer()  # it waits for us
            return
        seconds, is_answering = now - connection.phase_since, connection.is_busy()
        phase = connection.phase
        if not self._limits.allow(phase, seconds, is_answering=is_answering, read=connection.body_bytes):
            connection.end_late()
