"""The headers of a fast path's responses, learned from Django's own.

The first plain request of each kind goes through Django and all its middleware; later responses get the same
headers. So there is only one list of security headers.
"""

from __future__ import annotations

from typing import Any

from controlplane.web.django_bridge import Message, Send

Header = tuple[bytes, bytes]
_INDIVIDUAL_HEADERS = {b"x-request-id", b"etag"}
_LEARNED_STATUSES = (200, 201, 304)


class LearnedHeaders:
    """Headers by TLS (used or not) and by status."""

    def __init__(self) -> None:
        self._headers: dict[tuple[bool, int], list[Header]] = {}

    def of(self, is_secure: bool, status: int) -> list[Header] | None:
        return self._headers.get((is_secure, status))

    def learn_from(self, send: Send, *, is_secure: bool) -> Send:
        """Return a `send` that stores the headers of the response to a plain request."""

        async def send_and_learn(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._learn(is_secure, message["status"], message["headers"])
            await send(message)

        return send_and_learn

    def _learn(self, is_secure: bool, status: int, headers: list[Header]) -> None:
        names = {name for name, _ in headers}
        # A response that sets a cookie is for one caller only.
        if status not in _LEARNED_STATUSES or b"set-cookie" in names:
            return
        individual: set[Any] = _INDIVIDUAL_HEADERS | ({b"content-length"} if status != 304 else set())
        self._headers[is_secure, status] = [header for header in headers if header[0] not in individual]
