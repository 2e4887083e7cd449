"""Answers: kept ones, or computed in a thread by the code that Django uses, one of a kind at a time."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass

import structlog
from django.db import close_old_connections

from controlplane.scopes import Scope
from controlplane.web.request_metrics import Figures
from overrides.api.effective.fast_path.rendering import EffectiveAnswer, effective_answer
from overrides.api.effective.fast_path.requests import Question
from overrides.api.effective.fast_path.revision_check import Changes
from overrides.api.effective.fast_path.snapshot import Key, Place, Snapshot


@dataclass(slots=True)
class _Job:
    place: Place
    task: asyncio.Task[bool]


class Answers:
    """limit: bytes of ready answers."""

    def __init__(self, pool: Executor, figures: Figures, limit: int) -> None:
        self._pool = pool
        self._figures = figures
        self._snapshot = Snapshot(limit)
        self._jobs: dict[Key, _Job] = {}

    def changed(self, changes: Changes) -> None:
        dropped = (
            self._snapshot.clear()
            if changes.everything
            else sum(self._snapshot.drop(scope) for scope in changes.scopes)
        )
        if dropped:
            self._figures.dropped(dropped)

    def ready(self, key: Key) -> Place | None:
        place = self._snapshot.get(key)
        if place is not None:
            self._figures.count("ready")
        return place

    async def compute(self, question: Question) -> Place | None:
        """An answer no older than the last look at the database; None if there is no plain success."""
        while (job := self._jobs.get(question.key)) and job.place.dropped:
            # It began before a change that we have seen: its answer is not for us.
            await asyncio.shield(job.task)
        if job is None:
            job = self._begin(question)
        answered = await asyncio.shield(job.task)
        if answered:
            self._figures.count("computed")
        return job.place if answered else None

    def _begin(self, question: Question) -> _Job:
        # Before the computation: a change that is seen while it runs drops the place.
        place = self._snapshot.expect(question.key, question.scope)
        job = _Job(place, asyncio.create_task(self._compute(question, place)))
        self._jobs[question.key] = job
        return job

    async def _compute(self, question: Question, place: Place) -> bool:
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self._pool, _computed, question.scope, question.resource_type)
        except Exception:  # Django meets the same, and says it
            self._snapshot.forget(place)
            return False
        else:
            self._snapshot.fill(place, answer.body, answer.etag.encode())
            return True
        finally:
            del self._jobs[question.key]


def _computed(scope: Scope, resource_type: str) -> EffectiveAnswer:
    """In a thread of the pool. What is logged there belongs to no request."""
    structlog.contextvars.clear_contextvars()
    close_old_connections()
    try:
        return effective_answer(scope, resource_type)
    finally:
        close_old_connections()
