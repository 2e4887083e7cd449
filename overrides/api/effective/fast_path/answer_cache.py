"""Cached answers. Missing ones are computed in a thread by the same code as in Django, each only once."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass

import structlog
from django.db import close_old_connections

from controlplane.scopes import Scope
from controlplane.web.request_metrics import RequestMetrics
from overrides.api.effective.fast_path.rendering import EffectiveAnswer, effective_answer
from overrides.api.effective.fast_path.requests import Question
from overrides.api.effective.fast_path.revision_check import Changes
from overrides.api.effective.fast_path.snapshot import CacheEntry, Key, Snapshot


@dataclass(slots=True)
class _Job:
    entry: CacheEntry
    task: asyncio.Task[bool]


class AnswerCache:
    """limit: maximum bytes of ready answers."""

    def __init__(self, pool: Executor, metrics: RequestMetrics, limit: int) -> None:
        self._pool = pool
        self._metrics = metrics
        self._snapshot = Snapshot(limit)
        self._jobs: dict[Key, _Job] = {}

    def drop(self, changes: Changes) -> None:
        count = (
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

    async def compute(self, question: Question) -> CacheEntry | None:
        """Return an answer no older than the last poll of the database; None if it is not a plain success."""
        while (job := self._jobs.get(question.key)) and job.entry.dropped:
            # It began before a change that this request must include.
            await asyncio.shield(job.task)
        if job is None:
            job = self._begin(question)
        succeeded = await asyncio.shield(job.task)
        if succeeded:
            self._metrics.count("computed")
        return job.entry if succeeded else None

    def _begin(self, question: Question) -> _Job:
        # Before the computation, so that a change during it drops the entry.
        entry = self._snapshot.reserve(question.key, question.scope)
        job = _Job(entry, asyncio.create_task(self._compute(question, entry)))
        self._jobs[question.key] = job
        return job

    async def _compute(self, question: Question, entry: CacheEntry) -> bool:
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self._pool, _render, question.scope, question.resource_type)
        except Exception:  # Django gets the same error and reports it
            self._snapshot.evict(entry)
            return False
        else:
            self._snapshot.fill(entry, answer.body, answer.etag.encode())
            return True
        finally:
            del self._jobs[question.key]


def _render(scope: Scope, resource_type: str) -> EffectiveAnswer:
    """Render an answer in a thread of the pool. Its log lines belong to no request."""
    structlog.contextvars.clear_contextvars()
    close_old_connections()
    try:
        return effective_answer(scope, resource_type)
    finally:
        close_old_connections()
