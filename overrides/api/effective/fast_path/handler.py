"""The fast path of effective reads."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial

from django.conf import settings

from controlplane.web.django_bridge import Application
from controlplane.web.exchange import FastAnswer
from controlplane.web.fast_requests import RequestHead, RequestHeads
from controlplane.web.request_metrics import RequestMetrics
from overrides.api.effective.fast_path.answer_cache import AnswerCache, Computation, Rendered
from overrides.api.effective.fast_path.checked_reads import CheckedReads
from overrides.api.effective.fast_path.rendering import effective_answer
from overrides.api.effective.fast_path.requests import Question, question_of
from overrides.api.effective.fast_path.revision_check import Changes, RevisionCheck
from overrides.api.effective.fast_path.snapshot import CacheEntry, Key, Snapshot
from overrides.api.effective.fast_path.token_cache import CachedToken, TokenCache

ROUTE = "/api/v1/overrides/effective"
_MIB = 1024 * 1024


def plain_heads() -> RequestHeads:
    return RequestHeads("GET", "HEAD", has_body=False)


class FastReads(CheckedReads[Question]):
    """pool: the threads in which Django runs. Other fast paths can share snapshot, check and tokens."""

    def __init__(self, django: Application, pool: Executor) -> None:
        metrics = RequestMetrics(ROUTE.removeprefix("/"))
        self.pool = pool
        self.snapshot = Snapshot(settings.EFFECTIVE_SNAPSHOT_MIB * _MIB)
        answers = AnswerCache(pool, metrics, self.snapshot)
        self.check, self.tokens = RevisionCheck(self.announce), TokenCache(pool)
        super().__init__(
            django, plain_heads(), metrics, answers=answers, check=self.check, tokens=self.tokens
        )

    def announce(self, changes: Changes) -> None:
        """Drop what has changed, before any request is answered."""
        self._answers.drop(changes)

    def question(self, head: RequestHead) -> Question | None:
        return question_of(head.query)

    def key(self, question: Question, token: CachedToken) -> Key | None:
        return question.key if token.may_read(question.scope) else None

    def computation(self, question: Question, key: Key, token: CachedToken) -> Computation:
        return Computation(key, question.scope, partial(_render, question))

    def response(self, question: Question, head: RequestHead, entry: CacheEntry) -> FastAnswer:
        headers = [(b"etag", entry.etag)]
        if head.etag == entry.etag:
            return FastAnswer(304, b"", headers)
        return FastAnswer(200, entry.body, headers)

    async def close(self) -> None:
        self._metrics.write()
        await self.check.close()


def _render(question: Question) -> Rendered:
    answer = effective_answer(question.scope, question.resource_type, question.strategy)
    return Rendered(answer.body, answer.etag.encode())
