"""The fast path of effective reads: answered from memory after a shared check of the revision."""

from __future__ import annotations

from concurrent.futures import Executor

from django.conf import settings

from controlplane.web.django_bridge import Application, Receive, Scope, Send
from controlplane.web.fast_path import FastAnswer, FastPath
from controlplane.web.fast_requests import RequestHead, RequestHeads
from controlplane.web.request_metrics import RequestMetrics
from overrides.api.effective.fast_path.answer_cache import AnswerCache
from overrides.api.effective.fast_path.requests import question_of
from overrides.api.effective.fast_path.revision_check import RevisionCheck
from overrides.api.effective.fast_path.snapshot import CacheEntry
from overrides.api.effective.fast_path.token_cache import TokenCache

ROUTE = "/api/v1/overrides/effective"
_MIB = 1024 * 1024


def plain_heads() -> RequestHeads:
    return RequestHeads("GET", "HEAD", has_body=False)


class FastReads(FastPath):
    """pool: the threads in which Django runs."""

    def __init__(self, django: Application, pool: Executor) -> None:
        super().__init__(django, plain_heads(), RequestMetrics(ROUTE.removeprefix("/")))
        self._answers = AnswerCache(pool, self._metrics, settings.EFFECTIVE_SNAPSHOT_MIB * _MIB)
        self._tokens = TokenCache(pool)
        self._check = RevisionCheck(self._answers.drop)

    async def answer(self, head: RequestHead, body: bytes, request_id: str) -> FastAnswer | None:
        question = question_of(head.query)
        state = None if question is None else await self._check.poll()
        if question is None or state is None:
            return None
        token = self._tokens.ready(head.token_digest, state)
        if token is None:
            token = await self._tokens.look_up(head.secret, head.token_digest, state)
        if token is None or not token.may_read(question.scope):
            return None
        entry = self._answers.ready(question.key) or await self._answers.compute(question)
        return None if entry is None else _answer(entry, head.etag)

    async def leave(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._metrics.count("django")
        await super().leave(scope, receive, send)

    async def close(self) -> None:
        self._metrics.write()
        await self._check.close()


def _answer(entry: CacheEntry, client_etag: bytes | None) -> FastAnswer:
    headers = [(b"etag", entry.etag)]
    if client_etag == entry.etag:
        return FastAnswer(304, b"", headers)
    return FastAnswer(200, entry.body, headers)
