"""Queue for requests that hash a password, with its own threads, separate from the API's.

When the queue is full, a request goes to Django's other threads with a mark, and is rejected there
without computing a hash.
"""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import unquote_to_bytes

from django.http import HttpRequest, HttpResponse

from controlplane.api.problems import plain_response
from controlplane.errors import BodyTooLarge
from controlplane.web.django_bridge import Application, Bridge, Receive, Scope, Send, WSGIApplication
from controlplane.web.fast_requests import replay_body
from controlplane.web.incomplete_body import receive_nothing

ROUTES = frozenset(
    {"/login", "/login/local", "/login/step-up", "/account/password", "/api/v1/me:change-password"}
)
RETRY_SECONDS = 5
_MARK = "controlplane.password_queue_full"
_LONGEST_BODY = 64 * 1024
# A client that sends its form more slowly has left, or is trying to occupy the queue.
_BODY_SECONDS = 10.0


def is_password_request(scope: Scope) -> bool:
    """True if the request contains a password."""
    return scope["method"] == "POST" and unquote_to_bytes(scope["raw_path"]).decode("latin-1") in ROUTES


def is_full(request: HttpRequest) -> bool:
    """True if the queue was full: the response is 503, without computing a hash."""
    return bool(request.META.get(_MARK))


class PasswordQueue:
    """Runs password requests in Django. fallback: handles requests that find the queue full."""

    def __init__(
        self, application: WSGIApplication, fallback: Application, *, threads: int, queue: int
    ) -> None:
        self._bridge = Bridge(
            application,
            threads=threads,
            queue=threads + queue,
            body_limit=_LONGEST_BODY,
            kind="passwords",
        )
        self._fallback = fallback
        self._free = threads + queue

    @property
    def pool(self) -> Any:
        return self._bridge.pool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _small_body(receive)
        if body is None:
            await self._fallback(scope, receive_nothing, send)
            return
        if len(body) > _LONGEST_BODY:
            await _send_too_large(send)
            return
        if self._free == 0:
            await self._fallback({**scope, "environ": {_MARK: True}}, replay_body(body, receive), send)
            return
        self._free -= 1
        try:
            await self._bridge(scope, replay_body(body, receive), send)
        finally:
            self._free += 1

    async def close(self, patience: float) -> None:
        await self._bridge.close(patience)


async def _small_body(receive: Receive) -> bytes | None:
    """Read the body before taking a slot; None if the client left or is too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while len(body) <= _LONGEST_BODY:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body += message.get("body", b"")
                if not message.get("more_body"):
                    break
    except TimeoutError:
        return None
    return bytes(body)


async def _send_too_large(send: Send) -> None:
    await send_response(
        send,
        plain_response(BodyTooLarge(f"The body of this request can have at most {_LONGEST_BODY} bytes.")),
    )


async def send_response(send: Send, response: HttpResponse) -> None:
    """Send a Django response from the event loop."""
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
