"""Requests that Django handles first and that are then held open: its response, and how it is asked again."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from controlplane.api.problems import plain_response
from controlplane.endpoints.events.watch_header import HEADER, PROOF
from controlplane.errors import TooManyAttempts
from controlplane.web.django_bridge import Application, Message, Receive, Send

_HEADER = HEADER.lower().encode()
_CLIENT_GONE = 499


@dataclass(frozen=True, slots=True)
class FirstResponse:
    """Django's response. watch: what it handed over; None if the connection does not stay open."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    watch: bytes | None

    @property
    def held_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers of a response whose body may become another one."""
        return [(name, value) for name, value in self.headers if name != b"content-length"]

    async def send_unchanged(self, send: Send) -> None:
        """Send exactly what Django answered."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})

    async def send(self, send: Send) -> None:
        headers = self.held_headers
        # For a 304 it would be the length of a body that is not sent.
        if self.status != HTTPStatus.NOT_MODIFIED:
            headers = [*headers, (b"content-length", str(len(self.body)).encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class RepeatableBody:
    """The body of a request, which Django reads again when the request is handled again."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._messages: list[Message] = []

    async def first(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._messages.append(message)
        return message

    async def again(self) -> Message:
        body = b"".join(message.get("body", b"") for message in self._messages)
        return {"type": "http.request", "body": body, "more_body": False}


async def ask_django(django: Application, scope: Message, receive: Receive) -> FirstResponse:
    """Have Django handle the request, and take the watch out of its response."""
    messages: list[Message] = []

    async def collect(message: Message) -> None:
        messages.append(message)

    await django({**scope, "headers": [*scope["headers"], PROOF]}, receive, collect)
    status, headers = _CLIENT_GONE, []
    if messages:
        status, headers = messages[0]["status"], list(messages[0]["headers"])
    marks = [value for name, value in headers if name == _HEADER]
    body = b"".join(message.get("body", b"") for message in messages[1:])
    forwarded = [(name, value) for name, value in headers if name != _HEADER]
    return FirstResponse(status, forwarded, body, marks[0] if marks else None)


def too_many_response() -> FirstResponse:
    response = plain_response(
        TooManyAttempts(
            "Too many event streams and long polls are open. Close some, or try again in a minute."
        )
    )
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    return FirstResponse(response.status_code, [*headers, (b"retry-after", b"60")], response.content, None)
