"""Keep-alive connections for asyncio, as plain as can be: a client library would be the slowest part."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """status 0: the connection broke."""

    status: int
    body: bytes


BROKEN = Answer(0, b"")


class Line(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Answer] | None = None
        self._read = b""

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    async def ask(self, request: bytes) -> Answer:
        if self._transport is None:
            return BROKEN
        self._read, self._waiting = b"", asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        if self._transport:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._answer(BROKEN)

    def data_received(self, data: bytes) -> None:
        self._read += data
        end = self._read.find(b"\r\n\r\n")
        at = self._read.find(b"content-length: ", 0, end)
        if end < 0 or at < 0:
            return
        length = int(self._read[at + 16 : self._read.index(b"\r\n", at)])
        if len(self._read) >= end + 4 + length:
            self._answer(Answer(int(self._read[9:12]), self._read[end + 4 :]))

    def _answer(self, answer: Answer) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(answer)


class Lines:
    """A pool, as a gateway between a fleet and us would have it."""

    def __init__(self, port: int, count: int) -> None:
        self._port = port
        self._free: asyncio.LifoQueue[Line] = asyncio.LifoQueue()
        for _ in range(count):
            self._free.put_nowait(Line())

    async def ask(self, request: bytes) -> Answer:
        line = await self._free.get()
        try:
            if not line.is_open:
                line = await self._open()
            return await line.ask(request)
        except OSError:
            return BROKEN
        finally:
            self._free.put_nowait(line)

    async def _open(self) -> Line:
        _, line = await asyncio.get_running_loop().create_connection(Line, "127.0.0.1", self._port)
        return line

    def close(self) -> None:
        while not self._free.empty():
            self._free.get_nowait().close()
