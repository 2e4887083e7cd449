"""Turns of connections that sent many requests at once, so that others are answered first.

Of what arrived at once, a connection has its share answered with everybody's requests. The rest is late:
while others send requests, one such connection after the other gets one request answered, with pauses.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Protocol
from weakref import WeakKeyDictionary

# The share of a connection, in pieces: a piece is a whole request, a head, or a part of a body.
SHARE = 32
# Pieces in one turn of the event loop, of all that wait.
_PIECES_OF_ALL = 64
_PAUSE_SECONDS = 0.002
# After so many pauses without requests of others, no time is theirs.
_QUIET_PAUSES = 5


class Waiting(Protocol):
    """A connection with bytes that are not parsed yet."""

    def take_turn(self, most: int) -> int:
        """Parse some of the bytes, at most so many pieces, and return the number of pieces."""

    def is_busy(self) -> bool:
        """Return whether a request has no complete response yet."""


class Turns:
    """The connections of one server that wait. has_new: requests arrived on connections that do not wait."""

    _of_servers: WeakKeyDictionary[Any, Turns] = WeakKeyDictionary()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._prompt: deque[Waiting] = deque()
        self._late: deque[Waiting] = deque()
        self._queued: set[Waiting] = set()
        self._is_serving_prompt = self._is_serving_late = False
        self.has_new = False
        self._quiet_pauses = 0
        self._latest: Waiting | None = None

    @classmethod
    def of(cls, server_state: Any, loop: asyncio.AbstractEventLoop) -> Turns:
        """Return the turns of a server, which all its connections share."""
        turns = cls._of_servers.get(server_state)
        if turns is None:
            turns = cls._of_servers[server_state] = cls(loop)
        return turns

    def add(self, connection: Waiting, *, is_late: bool) -> None:
        """Put a connection at the end of its queue, unless it waits already."""
        if connection in self._queued:
            return
        self._queued.add(connection)
        (self._late if is_late else self._prompt).append(connection)
        if is_late and not self._is_serving_late:
            self._is_serving_late = True
            self._loop.call_soon(self._serve_late)
        elif not is_late and not self._is_serving_prompt:
            self._is_serving_prompt = True
            self._loop.call_soon(self._serve_prompt)

    def _serve_prompt(self) -> None:
        try:
            self._serve(self._prompt, SHARE, _PIECES_OF_ALL)
        finally:
            self._is_serving_prompt = bool(self._prompt)
            if self._prompt:
                self._loop.call_soon(self._serve_prompt)

    def _serve_late(self) -> None:
        self._quiet_pauses = 0 if self.has_new else self._quiet_pauses + 1
        self.has_new = False
        is_quiet = self._quiet_pauses > _QUIET_PAUSES
        try:
            if is_quiet:
                self._serve(self._late, SHARE, _PIECES_OF_ALL)
            elif self._latest is None or not self._latest.is_busy():
                self._latest = self._late[0]
                self._serve(self._late, 1, 1)
        finally:
            self._is_serving_late = bool(self._late)
            if is_quiet and self._late:
                self._loop.call_soon(self._serve_late)
            elif self._late:
                self._loop.call_later(_PAUSE_SECONDS, self._serve_late)
            else:
                self._latest = None

    def _serve(self, queue: deque[Waiting], most_of_one: int, most: int) -> None:
        # Who comes back to the queue waits for the next turn of the event loop.
        for _ in range(len(queue)):
            connection = queue.popleft()
            self._queued.discard(connection)
            most -= connection.take_turn(most_of_one)
            if most <= 0:
                break
