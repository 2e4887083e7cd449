"""Natural batching in a thread, through its Django connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections, connection, connections, transaction

from controlplane.database.commit import OutcomeUnknown
from controlplane.web.batching import Answer, NaturalBatches, Question

# One locked row must not delay the whole batch for long.
_LIMITS = "SET LOCAL lock_timeout = '1s'; SET LOCAL statement_timeout = '5s'"


class ThreadBatches(NaturalBatches[Question, Answer]):
    """work: runs in a transaction, and returns an answer or None for each question, in order.

    unknown: answers all questions of a batch of which nobody knows whether it was committed. By default
    Django does the work again, which is right where that does no harm.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Question]], Sequence[Answer | None]],
        *,
        most: int,
        name: str,
        unknown: Answer | None = None,
    ) -> None:
        # A thread cannot be stopped, and its commits must be answered: Postgres' timeouts end it instead.
        super().__init__(self._run_in_thread, most=most, patience=None, name=name)
        self._transaction = work
        self._unknown = unknown
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def close(self) -> None:
        await super().close()
        await asyncio.get_running_loop().run_in_executor(self._thread, connections.close_all)
        self._thread.shutdown()

    async def _run_in_thread(self, questions: Sequence[Question]) -> Sequence[Answer | None]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, questions)

    def _run(self, questions: Sequence[Question]) -> Sequence[Answer | None]:
        """Answer a batch, in the thread."""
        close_old_connections()
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(_LIMITS)
                return self._transaction(questions)
        except OutcomeUnknown:
            if self._unknown is None:
                raise
            return [self._unknown] * len(questions)
