"""Natural batching in a thread: whatever comes while one batch is under way forms the next.

For work through Django's own connection, of which a thread has one. Nobody waits for a timer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog
from django.db import close_old_connections, connection, connections, transaction

# After a failure Django answers for a moment, so that requests do not queue for a database that is away.
_PAUSE_SECONDS = 0.25
# A row that somebody else holds must not hold back all the others for long.
_LIMITS = "SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '5s'"
Ask = TypeVar("Ask")
Answer = TypeVar("Answer")
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Waiting(Generic[Ask, Answer]):
    asked: Ask
    answer: asyncio.Future[Answer | None]


class ThreadBatches(Generic[Ask, Answer]):
    """work: takes so many in a transaction, and returns an answer or None to each, in their order."""

    def __init__(
        self, work: Callable[[Sequence[Ask]], Sequence[Answer | None]], *, most: int, name: str
    ) -> None:
        self._work = work
        self._most = most
        self._name = name
        self._waiting: deque[_Waiting[Ask, Answer]] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._task: asyncio.Task[None] | None = None
        self._paused_until = 0.0

    async def ask(self, asked: Ask) -> Answer | None:
        """Return the answer, after the commit; None if it must be asked elsewhere."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._paused_until:
            return None
        one: _Waiting[Ask, Answer] = _Waiting(asked, loop.create_future())
        self._waiting.append(one)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._serve())
        return await one.answer

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.get_running_loop().run_in_executor(self._thread, connections.close_all)
        self._thread.shutdown()

    async def _serve(self) -> None:
        """One batch after the other until nobody waits."""
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            answers = await self._answers([one.asked for one in batch])
            for one, answer in zip(batch, answers, strict=True):
                if not one.answer.done():  # its client may have gone
                    one.answer.set_result(answer)

    async def _answers(self, asked: Sequence[Ask]) -> Sequence[Answer | None]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self._run, asked)
        except Exception as error:  # whatever it is, Django answers meanwhile
            log.warning("batch.failed", batches=self._name, error=str(error).strip() or type(error).__name__)
            self._paused_until = loop.time() + _PAUSE_SECONDS
            return [None] * len(asked)

    def _run(self, asked: Sequence[Ask]) -> Sequence[Answer | None]:
        """In the thread."""
        close_old_connections()
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(_LIMITS)
            return self._work(asked)
