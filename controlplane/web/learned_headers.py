"""The headers of a fast path's answers, learned from Django's own.

The first plain request of each kind goes through Django and all its middleware; later answers get the headers
of its answer. So no list of security headers is kept in two places.
"""

from __future__ import annotations

from typing import Any

from controlplane.web.django_bridge import Message, Send

Header = tuple[bytes, bytes]
_OF_ONE_ANSWER = {b"x-request-id", b"etag"}
_LEARNED_STATUSES = (200, 201, 304)


class LearnedHeaders:
    """By whether the request came by TLS, and by status."""

    def __init__(self) -> None:
        self._headers: dict[tuple[bool, int], list[Header]] = {}

    def of(self, is_secure: bool, status: int) -> list[Header] | None:
        return self._headers.get((is_secure, status))

    def learn_from(self, send: Send, *, is_secure: bool) -> Send:
        """Pass messages on, and keep the headers of an answer to a plain request."""

        async def learning(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._learn(is_secure, message["status"], message["headers"])
            await send(message)

        return learning

    def _learn(self, is_secure: bool, status: int, headers: list[Header]) -> None:
        names = {name for name, _ in headers}
        # An answer that sets a cookie is about one caller, and nothing to give to others.
        if status not in _LEARNED_STATUSES or b"set-cookie" in names:
            return
        varying: set[Any] = _OF_ONE_ANSWER | ({b"content-length"} if status != 304 else set())
        self._headers[is_secure, status] = [header for header in headers if header[0] not in varying]
