"""The fast path of reads by Flyte's HTTP clients."""

from __future__ import annotations

import time
from functools import partial

from prometheus_client import Counter

from controlplane.identity.callers import Caller
from controlplane.scopes import Scope
from controlplane.web.django_bridge import Application
from controlplane.web.exchange import Exchange, FastAnswer
from controlplane.web.fast_requests import RequestHead
from controlplane.web.learned_headers import LearnedHeaders
from controlplane.web.request_metrics import RequestMetrics
from overrides.api.effective.fast_path.answer_cache import AnswerCache, Computation, Rendered
from overrides.api.effective.fast_path.checked_reads import CheckedReads
from overrides.api.effective.fast_path.handler import FastReads
from overrides.api.effective.fast_path.snapshot import CacheEntry, Key
from overrides.api.effective.fast_path.token_cache import CachedToken
from overrides.flyte import calls
from overrides.flyte.call_totals import CallTotals
from overrides.flyte.errors import HTTP_STATUS, Code, FlyteError
from overrides.flyte.fast_path.heads import FlyteHead, FlyteHeads
from overrides.flyte.fast_path.questions import Question
from overrides.flyte.urls import ROUTE

READS = Counter(
    "cp_flyte_reads_total",
    "Plain HTTP reads of Flyte's clients by outcome: answered from cache, computed, or left to Django.",
    ["outcome"],
)
_CODES = {200: "OK", HTTP_STATUS[Code.NOT_FOUND]: Code.NOT_FOUND.name}


class FlyteReads(CheckedReads[Question]):
    """effective: the fast path whose memory, tokens and revision check this one shares."""

    def __init__(self, django: Application, effective: FastReads) -> None:
        metrics = RequestMetrics(ROUTE, READS)
        super().__init__(
            django,
            FlyteHeads(),
            metrics,
            answers=AnswerCache(effective.pool, metrics, effective.snapshot),
            check=effective.check,
            tokens=effective.tokens,
        )
        self.learned = LearnedHeaders(tuple(_CODES), individual=(b"content-type",))
        self._totals = CallTotals("http")

    def question(self, head: RequestHead) -> Question | None:
        return head.question if isinstance(head, FlyteHead) else None

    def key(self, question: Question, token: CachedToken) -> Key | None:
        caller = token.caller
        # Row-level security limits what callers of an organisation see.
        if caller.tenant is not None:
            return None
        if question.scope is not None and not token.may_read(question.scope):
            return None
        return (*question.key, caller.grants, caller.scopes) if question.is_of_caller else question.key

    def computation(self, question: Question, key: Key, token: CachedToken) -> Computation:
        # Lists of projects do not depend on overrides.
        scope = question.scope or Scope()
        return Computation(key, scope, partial(_render, question, token.caller), shows_catalogue=True)

    def response(self, question: Question, head: RequestHead, entry: CacheEntry) -> FastAnswer:
        content_type = question.marshaler.content_type.encode()
        return FastAnswer(entry.status, entry.body, [(b"content-type", content_type)])

    def finish(self, exchange: Exchange, answer: FastAnswer | None, request_id: str) -> None:
        question = self.question(exchange.head)
        is_learned = answer and self.learned.of(exchange.head.is_secure, answer.status)
        if answer is not None and is_learned and question is not None:
            seconds = time.perf_counter() - exchange.began_at
            self._totals.count(question.rpc, _CODES[answer.status], seconds)
        super().finish(exchange, answer, request_id)

    def write_metrics(self) -> None:
        """Write what was counted. Call it when the process stops."""
        self._metrics.write()
        self._totals.write()


def _render(question: Question, caller: Caller) -> Rendered:
    """Render the gateway's answer. Raises FlyteError, and any other error as it is."""
    try:
        message = calls.answer_read(question.rpc, question.request, caller)
    except FlyteError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        status = HTTP_STATUS[error.code]
        return Rendered(question.marshaler.dump(error.status()), status=status)
    return Rendered(question.marshaler.dump(message))
