"""Django's WSGI application inside an ASGI server: whole body in, one hop to a thread, answer out.

Django's own ASGI handler costs a request seven times as much (docs/performance.md). A streamed answer goes
out piece by piece from the thread that makes it, and ends when its reader goes away.
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

from controlplane.web.incomplete_body import IncompleteBody

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
WSGIApplication = Callable[[dict[str, Any], Any], Iterable[bytes]]

# Up to here a body may be read while others are; larger ones only as many at a time as there are threads.
_SMALL_BODY = 64 * 1024
# A streamed answer of known length up to this is sent whole: pieces of 4 KiB cost a hop each.
_SMALL_ANSWER = 1024 * 1024
# What is too much is thrown away up to this, so that a client that only listens afterwards hears the 413.
_PATIENCE_BYTES = 64 * 1024 * 1024
_SEND_SECONDS = 60.0


class ReaderGone(Exception):
    """Nobody reads the streamed answer any more, or we are stopping."""


class Bridge:
    """body_limit: bytes of a body that the application gets to see at most."""

    def __init__(self, application: WSGIApplication, *, threads: int, queue: int, body_limit: int) -> None:
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="django")
        self._application = application
        self._body_limit = body_limit
        self._seats = asyncio.Semaphore(queue)
        self._large_bodies = asyncio.Semaphore(threads)
        self._stopping = Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as resources:
            await resources.enter_async_context(self._seats)
            body = await self._read(scope, receive, resources)
            streamed = _Stream(receive, send, self._stopping)
            answer = await asyncio.get_running_loop().run_in_executor(
                self.pool, self._run, environ_of(scope, body), streamed
            )
        if answer is not None:
            status, headers, content = answer
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": content})

    async def close(self, patience: float) -> None:
        """Let what runs come to its end; streams end at their next piece."""
        self._stopping.set()
        ended = asyncio.get_running_loop().run_in_executor(None, self.pool.shutdown)
        await asyncio.wait([ended], timeout=patience)

    async def _read(self, scope: Scope, receive: Receive, resources: AsyncExitStack) -> bytes | None:
        """Return the body, cut one byte after the limit; None if it ended early, or its chunks make no sense.

        A body that says itself that it is too long is not kept at all: by its length it is refused.
        """
        keep = 0 if _declared_length(scope) > self._body_limit else self._body_limit + 1
        body, thrown_away, large = bytearray(), 0, False
        while thrown_away < _PATIENCE_BYTES:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            piece = message.get("body", b"")
            kept_piece = piece[: keep - len(body)]
            body += kept_piece
            thrown_away += len(piece) - len(kept_piece)
            if not message.get("more_body"):
                break
            if len(body) > _SMALL_BODY and not large:
                large = True
                await resources.enter_async_context(self._large_bodies)
        return bytes(body)

    def _run(self, environ: dict[str, Any], streamed: _Stream) -> tuple[int, Any, bytes] | None:
        """In a thread of the pool: make the answer, and send it from here if it is a stream."""
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
    """Sends pieces from a thread through the event loop, at the pace of their reader."""

    def __init__(self, receive: Receive, send: Send, stopping: Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        self._send = send
        self._stopping = stopping
        self._gone = Event()

    def send_all(self, status: int, headers: Any, pieces: Iterable[bytes]) -> None:
        """Return when all is sent or nobody listens. Raises what making the pieces raises."""
        watch = asyncio.run_coroutine_threadsafe(self._watch(), self._loop)
        try:
            self._say({"type": "http.response.start", "status": status, "headers": headers})
            for piece in pieces:
                self._say({"type": "http.response.body", "body": piece, "more_body": True})
            self._say({"type": "http.response.body", "body": b""})
        except ReaderGone:
            pass
        finally:
            watch.cancel()

    def _say(self, message: Message) -> None:
        if self._gone.is_set() or self._stopping.is_set():
            raise ReaderGone
        sending = asyncio.run_coroutine_threadsafe(self._sent(message), self._loop)
        try:
            sending.result(_SEND_SECONDS)
        except TimeoutError as error:
            sending.cancel()
            raise ReaderGone from error

    async def _sent(self, message: Message) -> None:
        await self._send(message)

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()


@contextmanager
def _closing(result: Iterable[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        close = getattr(result, "close", None)
        if close is not None:
            close()


def _is_whole(result: Iterable[bytes], started: list[Any]) -> bool:
    """True if the answer is in memory already, or small enough to be."""
    if isinstance(result, list | tuple) or not getattr(result, "streaming", True):
        return True
    length = dict(started[1]).get(b"content-length", b"")
    return length.isdigit() and int(length) <= _SMALL_ANSWER


def _declared_length(scope: Scope) -> int:
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(length) if length.isdigit() else 0


def _encoded(header: tuple[str, str]) -> tuple[bytes, bytes]:
    return header[0].lower().encode("latin-1"), header[1].encode("latin-1")


RAW_PATH = "controlplane.raw_path"
_WITHOUT_PREFIX = {b"content-type": "CONTENT_TYPE", b"content-length": "CONTENT_LENGTH"}


def environ_of(scope: dict[str, Any], body: bytes | None) -> dict[str, Any]:
    """Texts are bytes read as Latin-1, as PEP 3333 wants; Django decodes them once more.

    body: None if it did not arrive whole.
    """
    return {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": scope.get("root_path", ""),
        # Of the raw path: what is no UTF-8 is lost in the decoded one.
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        # The same without Django's repair of bytes that are no UTF-8.
        RAW_PATH: unquote_to_bytes(scope["raw_path"]),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "REMOTE_ADDR": scope["client"][0] if scope.get("client") else "",
        "SERVER_NAME": scope["server"][0],
        "SERVER_PORT": str(scope["server"][1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_SOFTWARE": "Granian",
        "wsgi.errors": sys.stderr,
        "wsgi.input": IncompleteBody() if body is None else BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.multiprocess": False,
        "wsgi.multithread": True,
        "wsgi.run_once": False,
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.version": (1, 0),
        **_headers(scope["headers"]),
        # What our own ASGI code tells Django; no client can set it.
        **scope.get("environ", {}),
    }


def _headers(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for name, value in headers:
        # X_Forwarded_Proto would be taken for X-Forwarded-Proto, which the proxy in front has checked.
        if b"_" in name:
            continue
        key = _WITHOUT_PREFIX.get(name) or "HTTP_" + name.decode("ascii").upper().replace("-", "_")
        text = value.decode("ascii") if value.isascii() else ""
        if key in variables:
            text = f"{variables[key]}{';' if key == 'HTTP_COOKIE' else ','}{text}"
        variables[key] = text
    return variables
