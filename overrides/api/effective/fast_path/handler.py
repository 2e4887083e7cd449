"""The fast path itself: an ASGI application that answers plain requests, and hands the others on."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor

from django.conf import settings

from controlplane.observability.request_ids import choose, new_request_id
from controlplane.web.django_bridge import Receive, Scope, Send
from controlplane.web.learned_headers import Header, Specimens
from controlplane.web.request_metrics import Figures
from overrides.api.effective.fast_path.answer_cache import Answers
from overrides.api.effective.fast_path.requests import PlainRequest, PlainRequests
from overrides.api.effective.fast_path.revision_check import RevisionCheck
from overrides.api.effective.fast_path.snapshot import Place
from overrides.api.effective.fast_path.token_cache import KnownTokens

ROUTE = "/api/v1/overrides/effective"
_MIB = 1024 * 1024
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class FastReads:
    """django: who answers all that is not plain. pool: the threads where Django runs."""

    def __init__(self, django: Application, pool: Executor) -> None:
        self._django = django
        self._figures = Figures(ROUTE.removeprefix("/"))
        self._answers = Answers(pool, self._figures, settings.EFFECTIVE_SNAPSHOT_MIB * _MIB)
        self._tokens = KnownTokens(pool)
        self._plain = PlainRequests()
        self._specimens = Specimens()
        self._check = RevisionCheck(self._answers.changed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        request = self._plain.read(scope)
        answer = None if request is None else await self._answer(request)
        if answer is None:
            self._figures.count("django")
            if request is not None:
                send = self._specimens.watching(send, secure=request.secure)
            await self._django(scope, receive, send)
            return
        status, headers, body = answer
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        self._figures.answered(scope["method"], status, time.perf_counter() - started)

    async def close(self) -> None:
        self._figures.write()
        await self._check.close()

    async def _answer(self, request: PlainRequest) -> tuple[int, list[Header], bytes] | None:
        """Status, headers and body; None where Django has the word."""
        sight = await self._check.look()
        if sight is None:
            return None
        token = self._tokens.ready(request.digest, sight)
        if token is None:
            token = await self._tokens.look_up(request.secret, request.digest, sight)
        if token is None or not token.may_read(request.question.scope):
            return None
        found = self._answers.ready(request.question.key) or await self._answers.compute(request.question)
        if found is None:
            return None
        status = 304 if request.held == found.etag else 200
        learned = self._specimens.of(request.secure, status)
        if learned is None:
            return None
        request_id = choose(request.request_id) if request.request_id else new_request_id()
        return _dressed(found, status, learned, request_id)


def _dressed(
    found: Place, status: int, learned: list[Header], request_id: str
) -> tuple[int, list[Header], bytes]:
    headers = [*learned, (b"etag", found.etag), (b"x-request-id", request_id.encode())]
    if status == 304:
        return status, headers, b""
    headers.append((b"content-length", str(len(found.body)).encode()))
    return status, headers, found.body
