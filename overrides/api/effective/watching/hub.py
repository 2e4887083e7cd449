"""The hub of a process: one loop looks at the revision for all watchers, and tells them what has changed.

It runs only while somebody watches: ten small statements per second, for one watcher or ten thousand.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor

import structlog

from controlplane.scopes import Scope
from overrides.api.effective.fast_path.revision_check import Changes, RevisionCheck
from overrides.api.effective.fast_path.revision_connection import RevisionState
from overrides.api.effective.watching.computing import compute, portions
from overrides.api.effective.watching.kept_answers import KeptAnswers
from overrides.api.effective.watching.topics import Answer, News, TopicKey, Topics

_PAUSE_SECONDS = 0.1
_PAUSE_AFTER_FAILURE_SECONDS = 1.0
# Connections that ended while they waited are forgotten this often, in rounds of the loop.
_ROUNDS_PER_SWEEP = 50
log = structlog.get_logger(__name__)


class Watcher(ABC):
    """Somebody who waits for other answers."""

    @abstractmethod
    def tell(self, news: Sequence[News]) -> None:
        """Take answers that the watcher does not have."""

    @abstractmethod
    def recheck(self, state: RevisionState) -> None:
        """Check the caller's rights again: somebody's rights have changed."""

    def is_gone(self) -> bool:
        """Return whether nobody waits any more."""
        return False


class Hub:
    """pool: the threads in which answers are computed. `changed` must get all that `check` announces."""

    def __init__(self, check: RevisionCheck, pool: Executor, kept: KeptAnswers) -> None:
        self._check, self._pool, self._kept = check, pool, kept
        self._topics = Topics()
        self._keys: dict[Watcher, Sequence[TopicKey]] = {}
        self._task: asyncio.Task[None] | None = None
        # The access epoch of the last round; empty before the first.
        self.access = b""
        self.is_stopping = False
        self.last_state: RevisionState | None = None
        # The end of that round: watchers have all news up to this revision.
        self.revision = self.revision_round = 0
        self._round_number = 0

    def join(self, watcher: Watcher, etags: Mapping[TopicKey, bytes], *, is_current: bool = False) -> int:
        """Tell the watcher of answers with other ETags than these, until it leaves.

        is_current: the ETags hold for the last poll of the revision. Returns the number of the last round.
        """
        self._keys[watcher] = tuple(etags)
        self._topics.join(watcher, etags, is_current=is_current)
        if self._task is None or self._task.done():
            self.access = b""
            self._task = asyncio.get_running_loop().create_task(self._run())
        return self._round_number

    def leave(self, watcher: Watcher) -> None:
        self._topics.leave(watcher, self._keys.pop(watcher, ()))

    def changed(self, changes: Changes) -> None:
        """Note what may have changed."""
        if changes.everything:
            self._topics.change([Scope()])
        else:
            self._topics.change(changes.scopes)

    def stop(self) -> None:
        """End the loop: the process stops."""
        self.is_stopping = True
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        rounds = 0
        while self._keys:
            await asyncio.sleep(await self._round())
            rounds += 1
            if rounds % _ROUNDS_PER_SWEEP == 0:
                for watcher in [each for each in self._keys if each.is_gone()]:
                    self.leave(watcher)

    async def _round(self) -> float:
        """Look at the revision once, and tell what has changed. Returns the seconds until the next look."""
        self._round_number += 1
        state = await self._state()
        if state is None:
            return _PAUSE_AFTER_FAILURE_SECONDS
        self._recheck(state)
        if not await self._tell():
            return _PAUSE_AFTER_FAILURE_SECONDS
        if not self._topics.has_stale():
            self.revision, self.revision_round = state.revision, self._round_number
        return _PAUSE_SECONDS

    async def _state(self) -> RevisionState | None:
        future: asyncio.Future[RevisionState | None] = asyncio.get_running_loop().create_future()

        def done(state: RevisionState | None) -> None:
            if not future.done():
                future.set_result(state)

        self._check.poll(done)
        return await future

    def _recheck(self, state: RevisionState) -> None:
        before, self.access = self.access, state.access
        self.last_state = state
        if before != state.access:
            for watcher in list(self._keys):
                watcher.recheck(state)

    async def _tell(self) -> bool:
        """Compute what may have changed, and tell those who wait for it. False if Postgres fails."""
        stale = self._topics.stale()
        entries = self._kept.reserve(stale)
        answers: dict[TopicKey, Answer] = {}
        loop = asyncio.get_running_loop()
        try:
            for keys in portions(stale):
                answers |= await loop.run_in_executor(self._pool, compute, keys, stale)
        except Exception as error:  # the database is unreachable; watchers keep waiting
            log.warning("effective.watch_failed", error=str(error).strip())
            self._topics.put_back(stale)
            return False
        finally:
            self._kept.fill(entries, answers)
        for watcher, news in self._topics.settle(answers).items():
            if isinstance(watcher, Watcher) and watcher in self._keys:
                watcher.tell(news)
        return True
