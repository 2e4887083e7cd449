"""A fast path: answers plain requests inside the HTTP protocol, and leaves all others to Django."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod

import structlog

from controlplane.database.commit import OutcomeUnknown
from controlplane.observability.request_ids import choose, new_request_id
from controlplane.web.django_bridge import Application, Receive, Scope, Send
from controlplane.web.exchange import AsgiExchange, Exchange, FastAnswer
from controlplane.web.fast_path_traces import record_request
from controlplane.web.fast_requests import RawHead, RequestHead, RequestHeads, whole_body
from controlplane.web.incomplete_body import receive_nothing
from controlplane.web.learned_headers import LearnedHeaders
from controlplane.web.request_metrics import RequestMetrics
from controlplane.web.unknown_outcomes import with_unknown_outcome

log = structlog.get_logger(__name__)
_NOT_MODIFIED = 304


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
        self.learned = LearnedHeaders()

    @abstractmethod
    def handle(self, exchange: Exchange, request_id: str) -> None:
        """Have `finish` called once for the exchange, now or later."""

    def take(self, raw: RawHead) -> RequestHead | None:
        """Return the head of a plain request; None if Django must answer."""
        return self._heads.read(raw)

    def begin(self, exchange: Exchange) -> None:
        """Answer a request that was read completely, now or later."""
        head = exchange.head
        if self._status and self.learned.of(head.is_secure, self._status) is None:
            self.leave(exchange)
            return
        try:
            self.handle(exchange, choose(head.request_id) if head.request_id else new_request_id())
        except Exception:  # Django gets the same error and reports it
            log.exception("fast_path.failed")
            self.leave(exchange)

    def finish(self, exchange: Exchange, answer: FastAnswer | None, request_id: str) -> None:
        """Send the answer with all its headers; None: Django must answer."""
        learned = None if answer is None else self.learned.of(exchange.head.is_secure, answer.status)
        if answer is None or learned is None:
            self.leave(exchange)
            return
        headers = [*answer.headers, (b"x-request-id", request_id.encode())]
        if answer.status != _NOT_MODIFIED:
            headers.append((b"content-length", b"%d" % len(answer.body)))
        answer.headers = headers
        exchange.answer(answer, learned)
        seconds = time.perf_counter() - exchange.began_at
        self._metrics.record_response(exchange.method, answer.status, seconds)
        if exchange.head.traceparent is not None:
            record_request(exchange, self._metrics.route, answer.status, request_id)

    def leave(self, exchange: Exchange) -> None:
        """Let Django answer."""
        exchange.leave(self._django, self.learned)

    def leave_unknown(self, exchange: Exchange) -> None:
        """Let Django say that the outcome is unknown: a second attempt would meet what the first has left."""
        exchange.leave(with_unknown_outcome(self._django), self.learned)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer under another ASGI server than ours, such as that of a benchmark."""
        began_at = time.perf_counter()
        head = self._heads.read(RawHead.of(scope))
        if head is None:
            await self._django(scope, receive, send)
            return
        body = await whole_body(receive) if self._heads.has_body else b""
        if body is None:
            await self._django(scope, receive_nothing, send)
            return
        exchange = AsgiExchange(scope["method"], head, body, began_at)
        self.begin(exchange)
        await exchange.finish(self._django, self.learned, scope, receive, send)


class TaskPath(FastPath):
    """A fast path with a task for each request: for those that are not the hottest."""

    def __init__(
        self, django: Application, heads: RequestHeads, metrics: RequestMetrics, *, status: int
    ) -> None:
        super().__init__(django, heads, metrics, status=status)
        self._tasks: set[asyncio.Task[None]] = set()

    @abstractmethod
    async def answer(self, head: RequestHead, body: bytes, request_id: str) -> FastAnswer | None:
        """Return the response to a plain request; None if Django must answer. Raises OutcomeUnknown."""

    def handle(self, exchange: Exchange, request_id: str) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(exchange, request_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, exchange: Exchange, request_id: str) -> None:
        try:
            answer = await self.answer(exchange.head, exchange.body, request_id)
        except OutcomeUnknown:
            self.leave_unknown(exchange)
            return
        except Exception:  # Django gets the same error and reports it
            log.exception("fast_path.failed")
            answer = None
        self.finish(exchange, answer, request_id)
