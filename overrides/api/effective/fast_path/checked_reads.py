"""Reads that are answered from memory after a shared check of the revision."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from controlplane.web.django_bridge import Application
from controlplane.web.exchange import Exchange, FastAnswer
from controlplane.web.fast_path import FastPath
from controlplane.web.fast_requests import RequestHead, RequestHeads
from controlplane.web.request_metrics import RequestMetrics
from overrides.api.effective.fast_path.answer_cache import AnswerCache, Computation
from overrides.api.effective.fast_path.revision_check import RevisionCheck
from overrides.api.effective.fast_path.revision_connection import RevisionState
from overrides.api.effective.fast_path.snapshot import CacheEntry, Key
from overrides.api.effective.fast_path.token_cache import CachedToken, TokenCache

_Question = TypeVar("_Question")


class CheckedReads(FastPath, Generic[_Question]):
    """A fast path whose answers are cached, each by what a request asks.

    check, tokens: one for all such fast paths of a process.
    """

    def __init__(
        self,
        django: Application,
        heads: RequestHeads,
        metrics: RequestMetrics,
        *,
        answers: AnswerCache,
        check: RevisionCheck,
        tokens: TokenCache,
    ) -> None:
        super().__init__(django, heads, metrics)
        self._answers, self._check, self._tokens = answers, check, tokens
        self._tasks: set[asyncio.Task[None]] = set()

    @abstractmethod
    def question(self, head: RequestHead) -> _Question | None:
        """Return what a request asks; None if it is invalid or unusual in any way."""

    @abstractmethod
    def key(self, question: _Question, token: CachedToken) -> Key | None:
        """Return the key of the answer; None if the caller may not read it, so that Django refuses."""

    @abstractmethod
    def computation(self, question: _Question, key: Key, token: CachedToken) -> Computation:
        """Return how the answer is computed."""

    @abstractmethod
    def response(self, question: _Question, head: RequestHead, entry: CacheEntry) -> FastAnswer:
        """Return the response with this answer."""

    def handle(self, exchange: Exchange, request_id: str) -> None:
        question = self.question(exchange.head)
        if question is None:
            self.leave(exchange)
            return

        def checked(state: RevisionState | None) -> None:
            if state is None:
                self.finish(exchange, None, request_id)
            elif not self._is_ready(exchange, question, state, request_id):
                self._in_task(self._compute(exchange, question, state, request_id))

        self._check.poll(checked)

    def deliver(
        self, exchange: Exchange, question: _Question, token: CachedToken, entry: CacheEntry, request_id: str
    ) -> None:
        """Send the answer."""
        self.finish(exchange, self.response(question, exchange.head, entry), request_id)

    def _is_ready(
        self, exchange: Exchange, question: _Question, state: RevisionState, request_id: str
    ) -> bool:
        """Deliver the answer if token and answer are cached; return whether they are."""
        token = self._tokens.ready(exchange.head.token_digest, state)
        key = None if token is None else self.key(question, token)
        entry = None if key is None else self._answers.ready(key)
        if token is None or entry is None:
            return False
        self.deliver(exchange, question, token, entry, request_id)
        return True

    async def _compute(
        self, exchange: Exchange, question: _Question, state: RevisionState, request_id: str
    ) -> None:
        head, entry = exchange.head, None
        token = self._tokens.ready(head.token_digest, state)
        if token is None:
            token = await self._tokens.look_up(head.secret, head.token_digest, state)
        key = None if token is None else self.key(question, token)
        if token is not None and key is not None:
            entry = self._answers.ready(key)
            entry = entry or await self._answers.compute(self.computation(question, key, token))
        if token is None or entry is None:
            self.finish(exchange, None, request_id)
        else:
            self.deliver(exchange, question, token, entry, request_id)

    def _in_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def leave(self, exchange: Exchange) -> None:
        self._metrics.count("django")
        super().leave(exchange)
