"""Long polls of the fast path: an open exchange and a timer each, without a thread or a task."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.endpoints.events.watcher_limits import WatcherLimits
from controlplane.web.exchange import Exchange, FastAnswer
from overrides.api.effective.fast_path.requests import Question
from overrides.api.effective.fast_path.revision_connection import RevisionState
from overrides.api.effective.fast_path.token_cache import CachedToken, TokenCache
from overrides.api.effective.watching.hub import Hub, Watcher
from overrides.api.effective.watching.topics import News, TopicKey

# Sends an answer; None: Django must answer.
Finish = Callable[[Exchange, FastAnswer | None, str], None]


@dataclass(frozen=True, slots=True)
class Poll:
    """A request that waits. principal: id of its caller."""

    exchange: Exchange
    question: Question
    request_id: str
    principal: str

    @property
    def etag(self) -> bytes:
        return self.exchange.head.etag or b""


class HeldPolls:
    """finish: of the fast path."""

    def __init__(self, hub: Hub, tokens: TokenCache, limits: WatcherLimits, finish: Finish) -> None:
        self._hub, self._tokens, self._limits, self._finish = hub, tokens, limits, finish
        self._waiting: set[HeldPoll] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def hold(
        self, exchange: Exchange, question: Question, token: CachedToken, request_id: str, *, is_current: bool
    ) -> None:
        """Hold a request that has the current answer. is_current: no change was announced since."""
        poll = Poll(exchange, question, request_id, str(token.caller.principal_id))
        if self._hub.is_stopping:
            self._finish(exchange, not_modified(poll), request_id)
        elif not self._limits.enter(poll.principal):
            self._finish(exchange, None, request_id)
        else:
            waiting = HeldPoll(self, poll)
            self._waiting.add(waiting)
            key = TopicKey(question.scope, question.resource_type, question.strategy)
            self._hub.join(waiting, {key: poll.etag}, is_current=is_current)
            if self._hub.access and self._hub.access != token.epoch and self._hub.last_state:
                waiting.recheck(self._hub.last_state)

    def stop(self) -> None:
        """Answer all: the process stops, and the clients ask another one."""
        for waiting in list(self._waiting):
            waiting.end()

    def release(self, waiting: HeldPoll) -> None:
        """Hold a poll no longer."""
        self._waiting.discard(waiting)
        self._hub.leave(waiting)
        self._limits.leave(waiting.poll.principal)

    def answer(self, poll: Poll, answer: FastAnswer | None) -> None:
        """Answer as far as the token still allows it; Django answers otherwise."""
        # The time of the wait is none of the request's.
        poll.exchange.began_at = time.perf_counter()
        state, head = self._hub.last_state, poll.exchange.head
        if answer is None or state is None or self._tokens.ready(head.token_digest, state):
            self._finish(poll.exchange, answer, poll.request_id)
        else:
            self._in_task(self._answer_checked(poll, answer, state))

    async def _answer_checked(self, poll: Poll, answer: FastAnswer, state: RevisionState) -> None:
        is_allowed = await self.is_allowed(poll, state)
        self._finish(poll.exchange, answer if is_allowed else None, poll.request_id)

    async def is_allowed(self, poll: Poll, state: RevisionState) -> bool:
        """Return whether the token is valid and may read the scope."""
        head = poll.exchange.head
        token = self._tokens.ready(head.token_digest, state)
        if token is None:
            token = await self._tokens.look_up(head.secret, head.token_digest, state)
        return token is not None and token.may_read(poll.question.scope)

    def recheck(self, waiting: HeldPoll, state: RevisionState) -> None:
        self._in_task(self._recheck(waiting, state))

    async def _recheck(self, waiting: HeldPoll, state: RevisionState) -> None:
        if not await self.is_allowed(waiting.poll, state):
            waiting.end(is_refused=True)

    def _in_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class HeldPoll(Watcher):
    """One request that waits."""

    def __init__(self, polls: HeldPolls, poll: Poll) -> None:
        self.poll, self._polls = poll, polls
        self._is_over = False
        self._timer = asyncio.get_running_loop().call_later(poll.question.wait, self.end)

    def tell(self, news: Sequence[News]) -> None:
        answer = news[0].answer
        if answer.is_refused:
            self.end(is_refused=True)
        elif self._release():
            self._polls.answer(self.poll, FastAnswer(200, answer.body, [(b"etag", answer.etag)]))

    def recheck(self, state: RevisionState) -> None:
        self._polls.recheck(self, state)

    def end(self, *, is_refused: bool = False) -> None:
        """Answer without news. is_refused: Django says why."""
        if self._release():
            self._polls.answer(self.poll, None if is_refused else not_modified(self.poll))

    def is_gone(self) -> bool:
        """Return whether the client is gone; the poll is then over."""
        return self.poll.exchange.is_over() and self._release()

    def _release(self) -> bool:
        """True for the first caller: the poll is answered once."""
        if self._is_over:
            return False
        self._is_over = True
        self._timer.cancel()
        self._polls.release(self)
        return True


def not_modified(poll: Poll) -> FastAnswer:
    return FastAnswer(304, b"", [(b"etag", poll.etag)])
