"""Cached answers. Missing ones are computed in a thread by the same code as in Django, each only once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import structlog
from django.db import close_old_connections

from controlplane.scopes import Scope
from controlplane.web.request_metrics import RequestMetrics
from overrides.api.effective.fast_path.revision_check import Changes
from overrides.api.effective.fast_path.snapshot import CacheEntry, Key, Snapshot


@dataclass(frozen=True, slots=True)
class Rendered:
    """An answer as bytes. etag: with quotes, as in the header; empty if the answer has none."""

    body: bytes
    etag: bytes = b""
    status: int = 200


@dataclass(frozen=True, slots=True)
class Computation:
    """How an answer is computed. scope: changes that cover it drop the answer.

    shows_catalogue: changes of projects and domains drop it too. render: raises if Django must answer.
    """

    key: Key
    scope: Scope
    render: Callable[[], Rendered]
    shows_catalogue: bool = False


@dataclass(slots=True)
class _Job:
    entry: CacheEntry
    task: asyncio.Task[bool]


class AnswerCache:
    """The answers of one fast path. snapshot: holds them, possibly with those of other fast paths."""

    def __init__(self, pool: Executor, metrics: RequestMetrics, snapshot: Snapshot) -> None:
        self._pool = pool
        self._metrics = metrics
        self._snapshot = snapshot
        self._jobs: dict[Key, _Job] = {}

    def drop(self, changes: Changes) -> None:
        """Drop what has changed, of all fast paths that share the snapshot."""
        count = self._snapshot.drop_catalogue() if changes.contents else 0
        count += (
            self._snapshot.clear()
            if changes.everything
            else sum(self._snapshot.drop(scope) for scope in changes.scopes)
        )
        if count:
            self._metrics.count_dropped(count)

    def ready(self, key: Key) -> CacheEntry | None:
        entry = self._snapshot.get(key)
        if entry is not None:
            self._metrics.count("ready")
        return entry

    async def compute(self, computation: Computation) -> CacheEntry | None:
        """Return an answer no older than the last poll of the database; None if it is not a plain success."""
        while (job := self._jobs.get(computation.key)) and job.entry.dropped:
            # It began before a change that this request must include.
            await asyncio.shield(job.task)
        if job is None:
            job = self._begin(computation)
        succeeded = await asyncio.shield(job.task)
        if succeeded:
            self._metrics.count("computed")
        return job.entry if succeeded else None

    def _begin(self, computation: Computation) -> _Job:
        # Before the computation, so that a change during it drops the entry.
        entry = self._snapshot.reserve(
            computation.key, computation.scope, shows_catalogue=computation.shows_catalogue
        )
        job = _Job(entry, asyncio.create_task(self._compute(computation, entry)))
        self._jobs[computation.key] = job
        return job

    async def _compute(self, computation: Computation, entry: CacheEntry) -> bool:
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self._pool, _render, computation)
        except Exception:  # Django gets the same error and reports it
            self._snapshot.evict(entry)
            return False
        else:
            self._snapshot.fill(entry, answer.body, answer.etag, answer.status)
            return True
        finally:
            del self._jobs[computation.key]


def _render(computation: Computation) -> Rendered:
    """Render an answer in a thread of the pool. Its log lines belong to no request."""
    structlog.contextvars.clear_contextvars()
    close_old_connections()
    try:
        return computation.render()
    finally:
        close_old_connections()
