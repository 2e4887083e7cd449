"""Receivers of webhooks for benchmarks, in a process of their own: some answer at once, others never."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from controlplane.local.programs import free_port

_HEAD_END = b"\r\n\r\n"
_ANSWER = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


@dataclass(slots=True)
class Players:
    """Where receivers are. Each path below `url` is a receiver of its own."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def count(self) -> int:
        return int(self._ask("count"))

    def take(self) -> list[tuple[str, float]]:
        """Return ids of events and when they arrived, in seconds since 1970, and forget them."""
        return [(event_id, at) for event_id, at in self._ask("take")]

    def _ask(self, what: str) -> object:
        with urllib.request.urlopen(f"{self.url}/{what}", timeout=60) as answer:
            return json.load(answer)


@contextmanager
def players() -> Iterator[Players]:
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=_play, args=(port,), daemon=True)
    process.start()
    running = Players(port)
    try:
        _wait_for(running)
        yield running
    finally:
        process.kill()
        process.join()


def _wait_for(running: Players) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            running.count()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("The receivers do not start.")


@dataclass(slots=True)
class _Arrivals:
    arrived: list[tuple[str, float]] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(_HEAD_END)).decode("latin-1")
            path, headers = head.split(" ", 2)[1], head.lower()
            if path.startswith("/hang"):
                await asyncio.sleep(600)
            elif path.startswith("/hook"):
                await reader.readexactly(int(_header(headers, "content-length")))
                self.arrived.append((_header(headers, "webhook-id"), time.time()))
                writer.write(_ANSWER)
            else:
                writer.write(self._report(path))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _report(self, path: str) -> bytes:
        if path == "/count":
            body = json.dumps(len(self.arrived))
        else:
            body, self.arrived = json.dumps(self.arrived), []
        return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()


def _header(head: str, name: str) -> str:
    return head.partition(f"\r\n{name}:")[2].partition("\r\n")[0].strip()


def _play(port: int) -> None:
    async def serve() -> None:
        server = await asyncio.start_server(_Arrivals().answer, "127.0.0.1", port, backlog=1024)
        await server.serve_forever()

    asyncio.run(serve())
