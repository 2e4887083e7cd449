"""The headers of a fast path's responses, learned from Django's own.

The first plain request of each kind goes through Django and all its middleware; later responses get the same
headers. So there is only one list of security headers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.web.django_bridge import Message, Send

Header = tuple[bytes, bytes]
# The rest of a rate limit is that of one request; what fast paths answer from memory is not counted.
_INDIVIDUAL_HEADERS = {b"x-request-id", b"etag", b"ratelimit", b"ratelimit-policy"}
_LEARNED_STATUSES = (200, 201, 304)
# A response with one of these is for one caller, or for one request.
_UNLEARNED = frozenset({b"set-cookie", b"idempotent-replayed", b"location", b"retry-after"})


@dataclass(frozen=True, slots=True)
class Learned:
    """Headers that responses share. lines: the same, as they are sent."""

    headers: tuple[Header, ...]
    lines: bytes


class LearnedHeaders:
    """Headers by TLS (used or not) and by status.

    statuses: of responses that share headers. individual: names of headers that each response has of its own.
    """

    def __init__(self, statuses: Sequence[int] = _LEARNED_STATUSES, individual: Iterable[bytes] = ()) -> None:
        self._statuses = statuses
        self._individual = _INDIVIDUAL_HEADERS | set(individual)
        self._headers: dict[tuple[bool, int], Learned] = {}

    def of(self, is_secure: bool, status: int) -> Learned | None:
        return self._headers.get((is_secure, status))

    def learn_from(self, send: Send, *, is_secure: bool) -> Send:
        """Return a `send` that stores the headers of the response to a plain request."""

        async def send_and_learn(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.learn(is_secure, message["status"], message["headers"])
            await send(message)

        return send_and_learn

    def learn(self, is_secure: bool, status: int, headers: Sequence[Header]) -> None:
        """Store the headers of one of Django's responses to a plain request."""
        names = {name for name, _ in headers}
        if status not in self._statuses or not _UNLEARNED.isdisjoint(names):
            return
        individual: set[Any] = self._individual | ({b"content-length"} if status != 304 else set())
        shared = tuple(header for header in headers if header[0] not in individual)
        self._headers[is_secure, status] = Learned(shared, lines_of(shared))


def lines_of(headers: Iterable[Header]) -> bytes:
    """Return headers as lines of HTTP/1.1."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)
