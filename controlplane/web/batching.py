"""Natural batching: the questions that arrive during one batch form the next.

There is no timer: a batch begins as soon as a worker is free.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from controlplane.web.connection_metrics import ConnectionUse

# After a failure Django answers for this long, so that requests do not queue for an unavailable database.
PAUSE_SECONDS = 0.25
Question = TypeVar("Question")
Answer = TypeVar("Answer")
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Request(Generic[Question, Answer]):
    """asked_at: by the clock of the event loop."""

    question: Question
    done: Callable[[Answer | None], None]
    asked_at: float


class NaturalBatches(Generic[Question, Answer]):
    """Answer questions in batches.

    work: answers a batch in order, with None for questions that Django must answer.
    most: maximum questions in a batch. patience: timeout of a batch in seconds; None: it cannot be cancelled.
    workers: concurrent batches, each with a connection to Postgres. name: for the log and for metrics.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Question]], Awaitable[Sequence[Answer | None]]],
        *,
        most: int,
        patience: float | None,
        name: str,
        workers: int = 1,
    ) -> None:
        self._work = work
        self._most = most
        self._patience = patience
        self._name = name
        self._idle_workers = workers
        self._connections = ConnectionUse(name, workers)
        self._queue: deque[_Request[Question, Answer]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting = False
        self._paused_until = 0.0

    async def ask(self, question: Question) -> Answer | None:
        """Return the answer of a batch that began after this call; None if Django must answer."""
        answered: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()

        def done(answer: Answer | None) -> None:
            if not answered.done():  # its client may have disconnected
                answered.set_result(answer)

        self.put(question, done)
        return await answered

    def put(self, question: Question, done: Callable[[Answer | None], None]) -> None:
        """Have `done` called with the answer, as `ask` returns it. done: raises nothing."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if now < self._paused_until:
            done(None)
            return
        self._queue.append(_Request(question, done, now))
        if self._idle_workers and not self._starting:
            self._starting = True
            loop.call_soon(self._start)

    async def close(self) -> None:
        """Wait for running batches."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self) -> None:
        """Start a worker. Two turns of the event loop after the first question: that makes batches larger."""
        self._starting = False
        self._idle_workers -= 1
        self._connections.begin()
        task = asyncio.get_running_loop().create_task(self._serve())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self) -> None:
        """Answer batches until the queue is empty."""
        try:
            while self._queue:
                await self._serve_batch()
        finally:
            self._idle_workers += 1
            self._connections.end()

    async def _serve_batch(self) -> None:
        size = min(self._most, len(self._queue))
        batch = [self._queue.popleft() for _ in range(size)]
        now = asyncio.get_running_loop().time()
        for request in batch:
            self._connections.wait(now - request.asked_at)
        answers: Sequence[Answer | None] = [None] * size
        try:
            answers = await self._answers([request.question for request in batch])
        finally:
            for request, answer in zip(batch, answers, strict=True):
                request.done(answer)

    async def _answers(self, questions: Sequence[Question]) -> Sequence[Answer | None]:
        try:
            async with asyncio.timeout(self._patience):
                return await self._work(questions)
        except Exception as error:  # any error: Django answers meanwhile
            log.warning("batch.failed", batches=self._name, error=str(error).strip() or type(error).__name__)
            self._paused_until = asyncio.get_running_loop().time() + PAUSE_SECONDS
            return [None] * len(questions)
