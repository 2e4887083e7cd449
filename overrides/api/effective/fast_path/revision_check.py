"""What has changed? One small statement before each answer, shared by all requests that wait for it.

Natural batching: a look begins as soon as the one before has ended, for all that have come meanwhile. It
begins after they came, so whatever was acknowledged before is seen. One is under way at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from controlplane.scopes import Scope
from overrides.api.effective.fast_path.revision_connection import LookConnection, Sight

# After a failure Django answers for a moment, so that requests do not queue for a database that is away.
_PAUSE_SECONDS = 0.25
_PATIENCE_SECONDS = 2.0
# More changed scopes than this are not looked at one by one.
_MOST_CHANGES = 10_000
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed after a revision. everything: forget all; else only what these scopes cover."""

    everything: bool
    scopes: tuple[Scope, ...] = ()


class RevisionCheck:
    """Tells `changed` what happened before it lets anybody answer."""

    def __init__(self, changed: Callable[[Changes], None]) -> None:
        self._changed = changed
        self._connection: LookConnection | None = None
        self._last: Sight | None = None
        self._last_made_at: datetime | None = None
        self._waiting: list[asyncio.Future[Sight | None]] = []
        self._task: asyncio.Task[None] | None = None
        self._paused_until = 0.0

    async def look(self) -> Sight | None:
        """Return what a look that began after this call saw; None if the database does not answer."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._paused_until:
            return None
        seen: asyncio.Future[Sight | None] = loop.create_future()
        self._waiting.append(seen)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._serve())
        return await seen

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _serve(self) -> None:
        """One look after the other until nobody waits."""
        while self._waiting:
            batch, self._waiting = self._waiting, []
            sight = None
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    sight = await self._look_and_tell()
            except Exception as error:  # whatever it is, Django answers meanwhile
                await self._lose_connection(error)
            finally:
                for seen in batch:
                    if not seen.done():
                        seen.set_result(sight)

    async def _look_and_tell(self) -> Sight | None:
        if self._connection is None:
            self._connection = await LookConnection.open()
        sight = await self._connection.look()
        if sight is None:  # a database without its rows is not ours to judge
            self._forget_all()
        elif (before := self._last) is None:
            self._forget_all()
            _, _, self._last_made_at = await self._history(self._connection, sight.revision, sight.revision)
        elif (before.revision, before.written) != (sight.revision, sight.written):
            await self._catch_up(self._connection, before, sight)
        elif before.catalogue != sight.catalogue:
            self._changed(Changes(everything=True))
        self._last = sight
        return sight

    async def _catch_up(self, connection: LookConnection, before: Sight, sight: Sight) -> None:
        """Tell what changed since. A restore may have taken away the past that we knew."""
        everything, then, made_at = await self._history(connection, before.revision, sight.revision)
        rows = await connection.rows(_CHANGED_SCOPES, before.revision, _MOST_CHANGES + 1)
        other_past = sight.revision < before.revision or then != self._last_made_at
        if everything or other_past or len(rows) > _MOST_CHANGES or before.catalogue != sight.catalogue:
            self._changed(Changes(everything=True))
        else:
            self._changed(Changes(False, tuple(Scope(*row) for row in rows)))
        self._last_made_at = made_at

    async def _history(
        self, connection: LookConnection, before: int, now: int
    ) -> tuple[bool, datetime | None, datetime | None]:
        """Did anything after `before` change everything? When was that revision made, and this one?"""
        ((everything, then, made_at),) = await connection.rows(_HISTORY, before, before, now)
        return everything, then, made_at

    async def _lose_connection(self, error: Exception) -> None:
        """Another server may answer next, with another past: start from nothing."""
        log.warning("fast_reads.database_lost", error=str(error).strip())
        self._paused_until = asyncio.get_running_loop().time() + _PAUSE_SECONDS
        lost, self._connection = self._connection, None
        self._forget_all()
        if lost is not None:
            await lost.close()

    def _forget_all(self) -> None:
        self._last = None
        self._changed(Changes(everything=True))


_HISTORY = """
SELECT EXISTS (SELECT FROM overrides_revision WHERE revision > %s AND everything),
       (SELECT made_at FROM overrides_revision WHERE revision = %s),
       (SELECT made_at FROM overrides_revision WHERE revision = %s)
"""
# Later changes may be among them: they are told once more by the next look, and dropping twice does no harm.
_CHANGED_SCOPES = """
SELECT domain, project, workflow, launch_plan FROM overrides_scopehead WHERE revision > %s LIMIT %s
"""
