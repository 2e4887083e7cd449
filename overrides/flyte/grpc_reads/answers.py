"""Ready answers, computed in a thread by the code of the ordinary path, each only once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

import structlog
from django.db import close_old_connections

from controlplane.identity.callers import ANONYMOUS_READER, Caller
from overrides.api.effective.fast_path.revision_check import Changes
from overrides.api.effective.fast_path.snapshot import CacheEntry, Key, Snapshot
from overrides.flyte import attributes, projects
from overrides.flyte.errors import Code, FlyteError
from overrides.flyte.grpc_reads.questions import AttributesQuestion, ListQuestion

_MOST_LISTS = 64
_LARGEST_LIST = 256 * 1024
_Result = TypeVar("_Result")
NOT_FOUND = Code.NOT_FOUND.name.encode()


@dataclass(slots=True)
class _Job:
    entry: CacheEntry
    task: asyncio.Task[None]


class AttributeAnswers:
    """limit: maximum bytes. The body of an entry is a message, or a Status if its ETag is NOT_FOUND."""

    def __init__(self, pool: Executor, limit: int) -> None:
        self._pool = pool
        self._snapshot = Snapshot(limit)
        self._jobs: dict[Key, _Job] = {}

    def drop(self, changes: Changes) -> None:
        if changes.contents:
            self._snapshot.drop_catalogue()
        if changes.everything:
            self._snapshot.clear()
        for scope in changes.scopes:
            self._snapshot.drop(scope)

    def ready(self, key: Key) -> CacheEntry | None:
        return self._snapshot.get(key)

    async def compute(self, question: AttributesQuestion) -> CacheEntry:
        """Return an answer that includes all changes announced so far. Raises FlyteError."""
        while (job := self._jobs.get(question.key)) and job.entry.dropped:
            # It began before a change that this call must include.
            await asyncio.wait((job.task,))
        if job is None:
            # Reserved before the computation, so that a change during it drops the entry.
            entry = self._snapshot.reserve(question.key, question.scope, shows_catalogue=True)
            job = _Job(entry, asyncio.create_task(self._compute(question, entry)))
            self._jobs[question.key] = job
        await asyncio.shield(job.task)
        return job.entry

    async def _compute(self, question: AttributesQuestion, entry: CacheEntry) -> None:
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self._pool, _in_thread, lambda: _attributes(question))
            self._snapshot.fill(entry, *answer)
        except BaseException:  # the ordinary path gets the same error and reports it
            self._snapshot.evict(entry)
            raise
        finally:
            del self._jobs[question.key]


@dataclass(slots=True)
class _ReadyList:
    fingerprint: bytes
    message: bytes


class ListAnswers:
    """Lists of projects and domains, each valid while no row of either changes."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._ready: OrderedDict[tuple[object, ...], _ReadyList] = OrderedDict()

    def ready(self, key: tuple[object, ...], fingerprint: bytes) -> bytes | None:
        ready = self._ready.get(key)
        return ready.message if ready is not None and ready.fingerprint == fingerprint else None

    async def compute(
        self, key: tuple[object, ...], question: ListQuestion, caller: Caller, fingerprint: bytes
    ) -> bytes:
        """Return the list as the caller sees it. fingerprint: read before. Raises FlyteError and ours."""
        loop = asyncio.get_running_loop()
        message = await loop.run_in_executor(self._pool, _in_thread, lambda: _list(question, caller))
        if len(message) <= _LARGEST_LIST:
            self._ready[key] = _ReadyList(fingerprint, message)
        if len(self._ready) > _MOST_LISTS:
            self._ready.popitem(last=False)
        return message


def _attributes(question: AttributesQuestion) -> tuple[bytes, bytes]:
    """Return body and ETag. The permission of each caller is checked at each call."""
    try:
        return attributes.get(question.request, ANONYMOUS_READER).SerializeToString(), b""
    except FlyteError as error:
        if error.code is not Code.NOT_FOUND:
            raise
        return error.status().SerializeToString(), NOT_FOUND


def _list(question: ListQuestion, caller: Caller) -> bytes:
    answer = projects.list_all if question.of_caller else projects.list_domains
    return answer(question.request, caller).SerializeToString()


def _in_thread(compute: Callable[[], _Result]) -> _Result:
    """Run in a thread of the pool. Its log lines belong to no call."""
    structlog.contextvars.clear_contextvars()
    close_old_connections()
    try:
        return compute()
    finally:
        close_old_connections()
