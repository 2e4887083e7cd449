"""Requests that hash a password: threads of their own and a bounded queue, apart from those of the API.

When the queue is full, the request goes to Django's other threads with a mark: there it is refused, without
a hash.
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

ROUTES = frozenset({"/login", "/account/password", "/api/v1/me:change-password"})
RETRY_SECONDS = 5
_MARK = "controlplane.password_queue_full"
_LONGEST_BODY = 64 * 1024
# A client that sends its form slower than this has left, or wants to hold a place in the queue.
_BODY_SECONDS = 10.0


def is_password_request(scope: Scope) -> bool:
    """True if the request is a form or a call with a password in it."""
    return scope["method"] == "POST" and unquote_to_bytes(scope["raw_path"]).decode("latin-1") in ROUTES


def is_full(request: HttpRequest) -> bool:
    """True if the request found the queue full: answer 503 and compute no hash."""
    return bool(request.META.get(_MARK))


class PasswordQueue:
    """application: Django. others: gets the requests that find the queue full."""

    def __init__(
        self, application: WSGIApplication, others: Application, *, threads: int, queue: int
    ) -> None:
        self._bridge = Bridge(application, threads=threads, queue=threads + queue, body_limit=_LONGEST_BODY)
        self._others = others
        self._free = threads + queue

    @property
    def pool(self) -> Any:
        return self._bridge.pool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _small_body(receive)
        if body is None:
            await self._others(scope, receive_nothing, send)
            return
        if len(body) > _LONGEST_BODY:
            await _send_too_large(send)
            return
        if self._free == 0:
            await self._others({**scope, "environ": {_MARK: True}}, replay_body(body, receive), send)
            return
        self._free -= 1
        try:
            await self._bridge(scope, replay_body(body, receive), send)
        finally:
            self._free += 1

    async def close(self, patience: float) -> None:
        await self._bridge.close(patience)


async def _small_body(receive: Receive) -> bytes | None:
    """Read the body before a place is taken; None if the client left or is too slow."""
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
        send, plain_response(BodyTooLarge(f"A request with a password has {_LONGEST_BODY} bytes at most."))
    )


async def send_response(send: Send, response: HttpResponse) -> None:
    """Send a response of Django's from the event loop."""
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
