"""The fast path of effective reads that may wait."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial

from controlplane.endpoints.events.watcher_limits import WatcherLimits
from controlplane.web.django_bridge import Application, Receive, Send
from controlplane.web.django_bridge import Scope as ASGIScope
from controlplane.web.exchange import Exchange
from overrides.api.effective.fast_path.handler import ROUTE, FastReads
from overrides.api.effective.fast_path.requests import Question
from overrides.api.effective.fast_path.revision_check import Changes
from overrides.api.effective.fast_path.snapshot import CacheEntry
from overrides.api.effective.fast_path.token_cache import CachedToken
from overrides.api.effective.watching.connections import LEARN, EffectiveWatchers
from overrides.api.effective.watching.held_polls import HeldPolls
from overrides.api.effective.watching.hub import Hub
from overrides.api.effective.watching.kept_answers import KeptAnswers

STREAM_ROUTE = f"{ROUTE}:stream"
_NOT_MODIFIED = 304


class WaitingReads(FastReads):
    """limits: of all watchers of the process. `watchers` gets what is left to Django, and streams."""

    def __init__(self, django: Application, pool: Executor, limits: WatcherLimits) -> None:
        super().__init__(django, pool)
        self.hub = Hub(self.check, pool, KeptAnswers(self.snapshot))
        self.watchers = EffectiveWatchers(django, self.hub, limits)
        self._django = self.watchers
        self._held = HeldPolls(self.hub, self.tokens, limits, self.finish)

    def announce(self, changes: Changes) -> None:
        super().announce(changes)
        self.hub.changed(changes)

    def deliver(
        self, exchange: Exchange, question: Question, token: CachedToken, entry: CacheEntry, request_id: str
    ) -> None:
        head = exchange.head
        if not question.wait or head.etag != entry.etag:
            super().deliver(exchange, question, token, entry, request_id)
        elif self.learned.of(head.is_secure, _NOT_MODIFIED):
            self._held.hold(exchange, question, token, request_id, is_current=not entry.dropped)
        else:
            self.leave(exchange)

    def leave(self, exchange: Exchange) -> None:
        """Let Django answer. If the request then waits, its headers are learned before."""
        self._metrics.count("django")
        learn = partial(self.learned.learn, exchange.head.is_secure)

        async def answer(scope: ASGIScope, receive: Receive, send: Send) -> None:
            await self._django({**scope, LEARN: learn}, receive, send)

        exchange.leave(answer, self.learned)

    def stop(self) -> None:
        """Answer all that wait: the process stops."""
        self.hub.stop()
        self._held.stop()
        self.watchers.stop()
