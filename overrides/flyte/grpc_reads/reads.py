"""Answer batches of reads: one check of the revision for all calls that wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

import structlog
from django.conf import settings
from google.rpc.status_pb2 import Status

from controlplane.identity.roles import Action
from overrides.api.effective.fast_path.revision_connection import RevisionState
from overrides.api.effective.fast_path.snapshot import CacheEntry
from overrides.api.effective.fast_path.token_cache import CachedToken, TokenCache
from overrides.flyte.authorization import authorization_of
from overrides.flyte.call_totals import CallTotals
from overrides.flyte.grpc_calls import Call
from overrides.flyte.grpc_reads.answers import NOT_FOUND, AttributeAnswers, ListAnswers
from overrides.flyte.grpc_reads.checks import Checks, fingerprint_of
from overrides.flyte.grpc_reads.questions import AttributesQuestion, ListQuestion, Question, question_of

_MIB = 1024 * 1024
_PATIENCE_SECONDS = 2.0
_PAUSE_SECONDS = 0.25
_SCHEME = "bearer"
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Read:
    call: Call
    question: Question
    secret: bytes
    digest: bytes
    began: float


class FlyteReads:
    """pool: the threads of the ordinary path. Must be created in a running event loop."""

    def __init__(self, pool: Executor) -> None:
        self._attributes = AttributeAnswers(pool, settings.EFFECTIVE_SNAPSHOT_MIB * _MIB)
        self._lists = ListAnswers(pool)
        self._tokens = TokenCache(pool)
        self._checks = Checks(self._attributes.drop)
        self._totals = CallTotals("grpc")
        self._waiting: list[_Read] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_serving = False
        self._paused_until = 0.0

    def takes(self, call: Call, message: bytes) -> bool:
        question = question_of(call.path, message)
        if question is None:
            return False
        secret = _secret_of(authorization_of(call.metadata, settings.FLYTE_AUTHORIZATION_HEADERS))
        if secret is None or asyncio.get_running_loop().time() < self._paused_until:
            return False
        self._waiting.append(_Read(call, question, *secret, time.perf_counter()))
        if not self._is_serving:
            self._is_serving = True
            self._start(self._serve())
        return True

    async def close(self) -> None:
        self._totals.write()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._checks.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self) -> None:
        """Answer batches until no call waits. A batch's checks begin after its calls came."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._serve_batch(batch)
        finally:
            self._is_serving = False

    async def _serve_batch(self, batch: Sequence[_Read]) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                state = await self._checks.look()
        except Exception as error:  # any error: the ordinary path answers meanwhile
            log.warning("batch.failed", batches="flyte reads", error=str(error) or type(error).__name__)
            self._paused_until = asyncio.get_running_loop().time() + _PAUSE_SECONDS
            state = None
        for read in batch:
            if state is None:
                read.call.end(None)
            else:
                self._answer(read, state)

    def _answer(self, read: _Read, state: RevisionState) -> None:
        """Answer from memory, or begin to compute what is missing."""
        token = self._tokens.ready(read.digest, state)
        if token is None:
            self._start(self._compute(read, state))
        elif not _may_read(read.question, token):
            read.call.end(None)
        elif isinstance(read.question, AttributesQuestion):
            entry = self._attributes.ready(read.question.key)
            if entry is None:
                self._start(self._compute(read, state))
            else:
                self._totals.count_ready()
                self._respond(read, entry)
        else:
            message = self._lists.ready(_list_key(read.question, token), fingerprint_of(state))
            if message is None:
                self._start(self._compute(read, state))
            else:
                self._totals.count_ready()
                self._succeed(read, message)

    async def _compute(self, read: _Read, state: RevisionState) -> None:
        """Look up the token and compute the answer; leave the call to the ordinary path after any error."""
        try:
            token = self._tokens.ready(read.digest, state)
            token = token or await self._tokens.look_up(read.secret, read.digest, state)
            if token is None or not _may_read(read.question, token):
                read.call.end(None)
            elif isinstance(read.question, AttributesQuestion):
                self._respond(read, await self._attributes.compute(read.question))
            else:
                key = _list_key(read.question, token)
                self._succeed(
                    read,
                    await self._lists.compute(key, read.question, token.caller, fingerprint_of(state)),
                )
        except Exception:  # the ordinary path gets the same error and reports it
            read.call.end(None)

    def _respond(self, read: _Read, entry: CacheEntry) -> None:
        if entry.etag == NOT_FOUND:
            read.call.end(Status.FromString(entry.body))
            self._totals.count(read.question.rpc, "NOT_FOUND", time.perf_counter() - read.began)
        else:
            self._succeed(read, entry.body)

    def _succeed(self, read: _Read, message: bytes) -> None:
        read.call.end(message)
        self._totals.count(read.question.rpc, "OK", time.perf_counter() - read.began)


def _may_read(question: Question, token: CachedToken) -> bool:
    """Return whether a ready answer serves the caller; all other callers get theirs on the ordinary path."""
    # Row-level security limits what callers of an organisation see.
    if token.caller.tenant is not None:
        return False
    return not isinstance(question, AttributesQuestion) or token.may_read(question.scope)


def _list_key(question: ListQuestion, token: CachedToken) -> tuple[object, ...]:
    scopes = token.caller.scopes_for(Action.PROJECT_READ) if question.of_caller else ()
    return (question.rpc, question.content, frozenset(scopes))


@lru_cache(maxsize=1024)
def _secret_of(authorization: str) -> tuple[bytes, bytes] | None:
    """Return the token and its digest; None for everything but a bearer token."""
    scheme, _, secret = authorization.partition(" ")
    token = secret.strip().encode("latin-1")
    return (token, sha256(token).digest()) if scheme.lower() == _SCHEME and token else None
