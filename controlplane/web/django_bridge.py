"""Django's WSGI application in an ASGI server: read the whole body, run in a thread, send the response.

Django's own ASGI handler costs seven times as much per request (docs/performance.md). A streamed response is
sent piece by piece from its thread, and ends when the client disconnects.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from io import BytesIO
from threading import Event
from typing import Any
from urllib.parse import unquote_to_bytes

from controlplane.web.connection_metrics import ConnectionUse
from controlplane.web.incomplete_body import IncompleteBody

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
WSGIApplication = Callable[[dict[str, Any], Any], Iterable[bytes]]

# Bodies up to this size are read concurrently; of larger ones only as many as there are threads.
_SMALL_BODY = 64 * 1024
# A streamed response of known length up to this is sent at once: pieces of 4 KiB cost a thread switch each.
_MAX_BUFFERED_RESPONSE = 1024 * 1024
# Up to this, bytes beyond the limit are discarded, so that a client that reads only afterwards gets the 413.
_MAX_DISCARDED_BYTES = 64 * 1024 * 1024
_SEND_SECONDS = 60.0


class ClientDisconnected(Exception):
    """The client of a streamed response disconnected, or the process is stopping."""


class Bridge:
    """body_limit: maximum bytes of a body that the application gets. kind: of its requests, for metrics."""

    def __init__(
        self, application: WSGIApplication, *, threads: int, queue: int, body_limit: int, kind: str = "web"
    ) -> None:
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="django")
        # Each thread has a connection of its own.
        self._connections = ConnectionUse(kind, threads)
        self._application = application
        self._body_limit = body_limit
        self._queue = asyncio.Semaphore(queue)
        self._large_bodies = asyncio.Semaphore(threads)
        self._stopping = Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as resources:
            await resources.enter_async_context(self._queue)
            body = await self._read(scope, receive, resources)
            streamed = _Stream(receive, send, self._stopping)
            answer = await self._run_in_thread(environ_of(scope, body), streamed)
        if answer is not None:
            status, headers, content = answer
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": content})

    async def _run_in_thread(
        self, environ: dict[str, Any], streamed: _Stream
    ) -> tuple[int, Any, bytes] | None:
        loop = asyncio.get_running_loop()
        asked_at, started_at = loop.time(), 0.0

        def run() -> tuple[int, Any, bytes] | None:
            nonlocal started_at
            started_at = loop.time()
            return self._run(environ, streamed)

        self._connections.begin()
        try:
            return await loop.run_in_executor(self.pool, run)
        finally:
            self._connections.end()
            if started_at:
                self._connections.wait(started_at - asked_at)

    async def close(self, patience: float) -> None:
        """Wait for running requests; streams end at their next piece."""
        self._stopping.set()
        ended = asyncio.get_running_loop().run_in_executor(None, self.pool.shutdown)
        await asyncio.wait([ended], timeout=patience)

    async def _read(self, scope: Scope, receive: Receive, resources: AsyncExitStack) -> bytes | None:
        """Return the body, cut one byte after the limit; None if it ended early or its chunks are invalid.

        A body with a declared length above the limit is not kept: it is refused by its length.
        """
        limit = 0 if _declared_length(scope) > self._body_limit else self._body_limit + 1
        body, discarded, is_large = bytearray(), 0, False
        while discarded < _MAX_DISCARDED_BYTES:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            piece = message.get("body", b"")
            kept_piece = piece[: limit - len(body)]
            body += kept_piece
            discarded += len(piece) - len(kept_piece)
            if not message.get("more_body"):
                break
            if len(body) > _SMALL_BODY and not is_large:
                is_large = True
                await resources.enter_async_context(self._large_bodies)
        return bytes(body)

    def _run(self, environ: dict[str, Any], streamed: _Stream) -> tuple[int, Any, bytes] | None:
        """Make the response, in a thread of the pool; send it from there if it is a stream."""
        started: list[Any] = []

        def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
            started[:] = [int(status[:3]), [_encoded(header) for header in headers]]

        result = self._application(environ, start_response)
        with _closing(result):
            if _is_whole(result, started):
                return started[0], started[1], b"".join(result)
            streamed.send_all(started[0], started[1], result)
            return None


class _Stream:
    """A streamed response, sent from a thread through the event loop at the client's pace."""

    def __init__(self, receive: Receive, send: Send, stopping: Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        self._send = send
        self._stopping = stopping
        self._reader_gone = Event()

    def send_all(self, status: int, headers: Any, pieces: Iterable[bytes]) -> None:
        """Return when everything is sent or the client is gone. Raises the errors of `pieces`."""
        watch = asyncio.run_coroutine_threadsafe(self._watch(), self._loop)
        try:
            self._send_message({"type": "http.response.start", "status": status, "headers": headers})
            for piece in pieces:
                self._send_message({"type": "http.response.body", "body": piece, "more_body": True})
            self._send_message({"type": "http.response.body", "body": b""})
        except ClientDisconnected:
            pass
        finally:
            watch.cancel()

    def _send_message(self, message: Message) -> None:
        if self._reader_gone.is_set() or self._stopping.is_set():
            raise ClientDisconnected
        sending = asyncio.run_coroutine_threadsafe(self._forward(message), self._loop)
        try:
            sending.result(_SEND_SECONDS)
        except TimeoutError as error:
            sending.cancel()
            raise ClientDisconnected from error

    async def _forward(self, message: Message) -> None:
        await self._send(message)

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._reader_gone.set()


@contextmanager
def _closing(result: Iterable[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        close = getattr(result, "close", None)
        if close is not None:
            close()


def _is_whole(result: Iterable[bytes], started: list[Any]) -> bool:
    """Return whether the response is in memory, or small enough to be."""
    if isinstance(result, list | tuple) or not getattr(result, "streaming", True):
        return True
    length = dict(started[1]).get(b"content-length", b"")
    return length.isdigit() and int(length) <= _MAX_BUFFERED_RESPONSE


def _declared_length(scope: Scope) -> int:
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(length) if length.isdigit() else 0


def _encoded(header: tuple[str, str]) -> tuple[bytes, bytes]:
    return header[0].lower().encode("latin-1"), header[1].encode("latin-1")


RAW_PATH = "controlplane.raw_path"
_WITHOUT_PREFIX = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}


def environ_of(scope: dict[str, Any], body: bytes | None) -> dict[str, Any]:
    """Return the WSGI environ. Texts are bytes decoded as Latin-1 (PEP 3333); Django decodes them again.

    body: None if it is incomplete.
    """
    return {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": scope.get("root_path", ""),
        # From the raw path: bytes that are not UTF-8 are lost in the decoded one.
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        # The same, without Django's replacement of bytes that are not UTF-8.
        RAW_PATH: unquote_to_bytes(scope["raw_path"]),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "REMOTE_ADDR": scope["client"][0] if scope.get("client") else "",
        "SERVER_NAME": scope["server"][0],
        "SERVER_PORT": str(scope["server"][1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_SOFTWARE": "Controlplane",
        "wsgi.errors": sys.stderr,
        "wsgi.input": IncompleteBody() if body is None else BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.multiprocess": False,
        "wsgi.multithread": True,
        "wsgi.run_once": False,
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.version": (1, 0),
        **_headers(scope["headers"]),
        # Set by our own ASGI code; no client can set it.
        **scope.get("environ", {}),
    }


def _headers(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for name, value in headers:
        # X_Forwarded_Proto would become X-Forwarded-Proto, which only a trusted proxy may set.
        if b"_" in name:
            continue
        key = _WITHOUT_PREFIX.get(name) or "HTTP_" + name.decode("ascii").upper().replace("-", "_")
        text = value.decode("ascii") if value.isascii() else ""
        if key in variables:
            text = f"{variables[key]}{';' if key == 'HTTP_COOKIE' else ','}{text}"
        variables[key] = text
    return variables
