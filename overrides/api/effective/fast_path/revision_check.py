"""The revision check: one small statement before each answer, shared by all requests that wait for it.

A poll begins after the requests came that it serves, so every write that was acknowledged before them is
seen. One poll is under way at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from controlplane.scopes import Scope
from controlplane.web.batching import NaturalBatches
from overrides.api.effective.fast_path.revision_connection import RevisionConnection, RevisionState

_PATIENCE_SECONDS = 2.0
# More changed scopes than this are not dropped one by one.
_MOST_CHANGES = 10_000


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes after a revision. everything: drop all answers; else only what these scopes cover."""

    everything: bool
    scopes: tuple[Scope, ...] = ()


class RevisionCheck:
    """Passes changes to `on_change` before it lets anybody answer."""

    def __init__(self, on_change: Callable[[Changes], None]) -> None:
        self._on_change = on_change
        self._connection: RevisionConnection | None = None
        self._last: RevisionState | None = None
        self._last_made_at: datetime | None = None
        self._polls: NaturalBatches[None, RevisionState] = NaturalBatches(
            self._poll_for_all, most=sys.maxsize, patience=_PATIENCE_SECONDS, name="revision polls"
        )

    async def poll(self) -> RevisionState | None:
        """Return the state of a poll that began after this call; None if the database does not answer."""
        return await self._polls.ask(None)

    async def close(self) -> None:
        await self._polls.close()
        if self._connection is not None:
            await self._connection.close()

    async def _poll_for_all(self, requests: Sequence[None]) -> Sequence[RevisionState | None]:
        try:
            state = await self._poll_and_announce()
        except BaseException:  # a poll that took too long is cancelled
            await self._lose_connection()
            raise
        return [state] * len(requests)

    async def _poll_and_announce(self) -> RevisionState | None:
        if self._connection is None:
            self._connection = await RevisionConnection.open()
        state = await self._connection.poll()
        if state is None:  # a database without its rows: nothing can be trusted
            self._forget_all()
        elif (before := self._last) is None:
            self._forget_all()
            _, _, self._last_made_at = await self._history(self._connection, state.revision, state.revision)
        elif (before.revision, before.written) != (state.revision, state.written):
            await self._catch_up(self._connection, before, state)
        elif before.catalogue != state.catalogue:
            self._on_change(Changes(everything=True))
        self._last = state
        return state

    async def _catch_up(
        self, connection: RevisionConnection, before: RevisionState, state: RevisionState
    ) -> None:
        """Announce the changes since `before`. A restore may have removed the revisions that were known."""
        everything, then, made_at = await self._history(connection, before.revision, state.revision)
        rows = await connection.rows(_CHANGED_SCOPES, before.revision, _MOST_CHANGES + 1)
        other_past = state.revision < before.revision or then != self._last_made_at
        if everything or other_past or len(rows) > _MOST_CHANGES or before.catalogue != state.catalogue:
            self._on_change(Changes(everything=True))
        else:
            self._on_change(Changes(False, tuple(Scope(*row) for row in rows)))
        self._last_made_at = made_at

    async def _history(
        self, connection: RevisionConnection, before: int, now: int
    ) -> tuple[bool, datetime | None, datetime | None]:
        """Whether any revision after `before` changed everything; the times of both revisions."""
        ((everything, then, made_at),) = await connection.rows(_HISTORY, before, before, now)
        return everything, then, made_at

    async def _lose_connection(self) -> None:
        """Start from nothing: another server may answer next, with other revisions."""
        lost, self._connection = self._connection, None
        self._forget_all()
        if lost is not None:
            await lost.close()

    def _forget_all(self) -> None:
        self._last = None
        self._on_change(Changes(everything=True))


_HISTORY = """
SELECT EXISTS (SELECT FROM overrides_revision WHERE revision > %s AND everything),
       (SELECT made_at FROM overrides_revision WHERE revision = %s),
       (SELECT made_at FROM overrides_revision WHERE revision = %s)
"""
# Later changes may be among them: the next poll announces them again, and dropping twice does no harm.
_CHANGED_SCOPES = """
SELECT domain, project, workflow, launch_plan FROM overrides_scopehead WHERE revision > %s LIMIT %s
"""
