"""One web worker's application inside the test's process: an event loop in a thread, asked from outside."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import connections


@dataclass
class Answered:
    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    def __getitem__(self, name: str) -> str:
        return dict(self.headers)[name.lower().encode()].decode()


class Worker:
    """make: builds the ASGI application, in the loop's thread."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.application = self.run(_call(make))

    def run(self, coroutine: Any, seconds: float = 15) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(seconds)

    def start(self, method: str, path: str, body: bytes = b"", *, to: Any = None, **headers: str) -> Any:
        """A request under way; `.result()` is the answer. to: another application than ours."""
        request = self.request(scope_of(method, path, headers, body), [body], to)
        return asyncio.run_coroutine_threadsafe(request, self.loop)

    def get(self, path: str, **headers: str) -> Answered:
        return self.start("GET", path, **headers).result(15)

    async def request(self, scope: dict[str, Any], pieces: list[bytes], to: Any = None) -> Answered:
        answered = Answered()
        left = list(pieces)

        async def receive() -> dict[str, Any]:
            if left:
                return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}
            await asyncio.sleep(3600)
            raise AssertionError("nobody waits so long")

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                answered.status, answered.headers = message["status"], list(message["headers"])
            else:
                answered.pieces.append(message["body"])

        await (to or self.application)(scope, receive, send)
        return answered

    def stop(self) -> None:
        self.run(_end(self.loop))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


def close_connections(pool: Any, threads: int) -> None:
    """Each thread of the pool closes its own: the test database must be free at the end."""
    meet = threading.Barrier(threads)

    def close() -> None:
        meet.wait(60)
        connections.close_all()

    for number in [pool.submit(close) for _ in range(threads)]:
        number.result(10)


def scope_of(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> dict[str, Any]:
    raw_path, _, query = path.partition("?")
    host = [(b"host", b"testserver")] if "Host" not in headers else []
    host += [(name.replace("_", "-").lower().encode(), value.encode()) for name, value in headers.items()]
    if body:
        host.append((b"content-length", str(len(body)).encode()))
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": raw_path,
        "raw_path": raw_path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": host,
        "client": ("127.0.0.1", "50000"),
        "server": ("127.0.0.1", "8000"),
    }


async def _call(make: Callable[[], Any]) -> Any:
    return make()


async def _end(loop: asyncio.AbstractEventLoop) -> None:
    tasks = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_default_executor()


def stop_effective(worker: Worker) -> None:
    """Stop a worker whose application is the router of a web process that answered effective reads."""
    router = worker.application
    close_connections(router.bridge.pool, settings.WEB_THREADS)
    worker.run(router.effective.close())
    worker.run(router.bridge.close(5))
    worker.stop()
