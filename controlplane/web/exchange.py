"""A request that a fast path handles: read completely, and answered or left to Django once."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.web.django_bridge import Application, Receive, Scope, Send
from controlplane.web.fast_requests import RequestHead, replay_body
from controlplane.web.learned_headers import Header, Learned, LearnedHeaders


@dataclass(slots=True)
class FastAnswer:
    """headers: in addition to those that all of Django's responses to such requests have."""

    status: int
    body: bytes
    headers: Sequence[Header] = ()


class Exchange(ABC):
    """head, body: of the request. began_at: by `time.perf_counter`."""

    __slots__ = ("began_at", "body", "head", "method")
    head: RequestHead
    method: str
    began_at: float
    body: bytes

    @abstractmethod
    def answer(self, answer: FastAnswer, learned: Learned) -> None:
        """Send the response, unless the client is gone."""

    @abstractmethod
    def leave(self, django: Application, learned: LearnedHeaders) -> None:
        """Let Django answer, and learn the headers of its response."""

    @abstractmethod
    def is_over(self) -> bool:
        """Return whether the request was answered, or the client is gone."""


class AsgiExchange(Exchange):
    """A request under another ASGI server than ours."""

    __slots__ = ("_done", "_left_to")

    def __init__(self, method: str, head: RequestHead, body: bytes, began_at: float) -> None:
        self.method, self.head, self.body, self.began_at = method, head, body, began_at
        self._done: asyncio.Future[tuple[FastAnswer, Learned] | None] = (
            asyncio.get_running_loop().create_future()
        )
        self._left_to: Application | None = None

    def answer(self, answer: FastAnswer, learned: Learned) -> None:
        if not self._done.done():
            self._done.set_result((answer, learned))

    def leave(self, django: Application, learned: LearnedHeaders) -> None:
        if not self._done.done():
            self._left_to = django
            self._done.set_result(None)

    def is_over(self) -> bool:
        return self._done.done()

    async def finish(
        self, django: Application, learned: LearnedHeaders, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Wait for the answer and send it, or let Django answer."""
        result = await self._done
        if result is None:
            learning = learned.learn_from(send, is_secure=self.head.is_secure)
            await (self._left_to or django)(scope, replay_body(self.body, receive), learning)
            return
        answer, known = result
        headers = [*known.headers, *answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})
