"""A fast path: an ASGI application that answers plain requests and passes all others to Django."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.observability.request_ids import choose, new_request_id
from controlplane.web.django_bridge import Application, Receive, Scope, Send
from controlplane.web.fast_requests import RequestHead, RequestHeads, replay_body, whole_body
from controlplane.web.incomplete_body import receive_nothing
from controlplane.web.learned_headers import Header, LearnedHeaders
from controlplane.web.request_metrics import RequestMetrics

_NOT_MODIFIED = 304


@dataclass(slots=True)
class FastAnswer:
    """headers: in addition to those that all of Django's responses to such requests have."""

    status: int
    body: bytes
    headers: Sequence[Header] = ()


class FastPath(ABC):
    """django: answers all requests that are not plain. heads: the reader of plain heads.

    status: of every response, if a request changes data: the fast path is used only once Django's headers for
    this status are known. None if a request changes nothing.
    """

    def __init__(
        self,
        django: Application,
        heads: RequestHeads,
        metrics: RequestMetrics,
        *,
        status: int | None = None,
    ) -> None:
        self._django = django
        self._heads = heads
        self._metrics = metrics
        self._status = status
        self._learned = LearnedHeaders()

    @abstractmethod
    async def answer(self, head: RequestHead, body: bytes, request_id: str) -> FastAnswer | None:
        """Return the response to a plain request; None if Django must answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started_at = time.perf_counter()
        head = self._heads.read(scope)
        if head is None:
            await self.leave(scope, receive, send)
            return
        body = await whole_body(receive) if self._heads.has_body else b""
        if body is None:
            await self.leave(scope, receive_nothing, send)
            return
        answer = await self._complete_answer(head, body)
        if answer is None:
            replayed = replay_body(body, receive) if self._heads.has_body else receive
            await self.leave(scope, replayed, self._learned.learn_from(send, is_secure=head.is_secure))
            return
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})
        self._metrics.record_response(scope["method"], answer.status, time.perf_counter() - started_at)

    async def leave(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let Django answer."""
        await self._django(scope, receive, send)

    async def _complete_answer(self, head: RequestHead, body: bytes) -> FastAnswer | None:
        """Return the response with all its headers; None if Django must answer."""
        if self._status and self._learned.of(head.is_secure, self._status) is None:
            return None
        request_id = choose(head.request_id) if head.request_id else new_request_id()
        answer = await self.answer(head, body, request_id)
        if answer is None:
            return None
        learned = self._learned.of(head.is_secure, answer.status)
        if learned is None:
            return None
        headers = [*learned, *answer.headers, (b"x-request-id", request_id.encode())]
        if answer.status != _NOT_MODIFIED:
            headers.append((b"content-length", str(len(answer.body)).encode()))
        answer.headers = headers
        return answer
