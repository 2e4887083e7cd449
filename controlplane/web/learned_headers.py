"""The headers of an answer, learned from Django's own.

The first plain request of each kind goes through Django and all its middleware, and the headers that it
brings are given to later ones. So no list of security headers is kept in two places.
"""

from __future__ import annotations

from typing import Any

from controlplane.web.django_bridge import Message, Send

Header = tuple[bytes, bytes]
_OF_ONE_ANSWER = {b"x-request-id", b"etag"}
_LEARNED_FROM = (200, 201, 304)


class Specimens:
    """By whether the request came by TLS, and by status."""

    def __init__(self) -> None:
        self._headers: dict[tuple[bool, int], list[Header]] = {}

    def of(self, secure: bool, status: int) -> list[Header] | None:
        return self._headers.get((secure, status))

    def watching(self, send: Send, *, secure: bool) -> Send:
        """Pass messages on, and keep what the answer to a plain request has in its head."""

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._learn(secure, message["status"], message["headers"])
            await send(message)

        return watched

    def _learn(self, secure: bool, status: int, headers: list[Header]) -> None:
        names = {name for name, _ in headers}
        # What sets a cookie is about one caller, and nothing to give to others.
        if status not in _LEARNED_FROM or b"set-cookie" in names:
            return
        varying: set[Any] = _OF_ONE_ANSWER | ({b"content-length"} if status != 304 else set())
        self._headers[secure, status] = [header for header in headers if header[0] not in varying]
