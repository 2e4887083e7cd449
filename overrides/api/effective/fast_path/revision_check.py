"""The revision check: one small statement before each response, shared by all waiting requests.

A poll begins after its requests arrived, so it includes every write that was acknowledged before them. One
poll runs at a time.
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
# With more changed scopes than this, all answers are dropped.
_MAX_CHANGES = 10_000


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes after a revision. everything: drop all answers; otherwise only those that the scopes cover.

    contents: projects or domains were added or changed, which concerns only answers that show them.
    """

    everything: bool
    scopes: tuple[Scope, ...] = ()
    contents: bool = False


class RevisionCheck:
    """Passes changes to `on_change` before any request is answered."""

    def __init__(self, on_change: Callable[[Changes], None]) -> None:
        self._on_change = on_change
        self._connection: RevisionConnection | None = None
        self._last: RevisionState | None = None
        self._last_made_at: datetime | None = None
        self._polls: NaturalBatches[None, RevisionState] = NaturalBatches(
            self._poll_for_all, most=sys.maxsize, patience=_PATIENCE_SECONDS, name="fast_reads"
        )

    def poll(self, done: Callable[[RevisionState | None], None]) -> None:
        """Call `done` with the state of a poll that began after this call; with None if Postgres fails."""
        self._polls.put(None, done)

    async def close(self) -> None:
        await self._polls.close()
        if self._connection is not None:
            await self._connection.close()

    async def _poll_for_all(self, requests: Sequence[None]) -> Sequence[RevisionState | None]:
        try:
            state = await self._poll()
        except BaseException:  # a poll that takes too long is cancelled
            await self._drop_connection()
            raise
        return [state] * len(requests)

    async def _poll(self) -> RevisionState | None:
        if self._connection is None:
            self._connection = await RevisionConnection.open()
        state = await self._connection.poll()
        if state is None:  # the polled rows are missing: nothing cached is valid
            self._drop_all()
        elif (before := self._last) is None:
            self._drop_all()
            _, _, self._last_made_at = await self._history(self._connection, state.revision, state.revision)
        else:
            await self._announce_changes(self._connection, before, state)
        self._last = state
        return state

    async def _announce_changes(
        self, connection: RevisionConnection, before: RevisionState, state: RevisionState
    ) -> None:
        """Announce what has changed since `before`."""
        if before.contents != state.contents:
            self._on_change(Changes(everything=False, contents=True))
        if (before.revision, before.written) != (state.revision, state.written):
            await self._announce_revisions(connection, before, state)
        elif before.catalogue != state.catalogue:
            self._on_change(Changes(everything=True))

    async def _announce_revisions(
        self, connection: RevisionConnection, before: RevisionState, state: RevisionState
    ) -> None:
        """Announce the revisions since `before`. A restore may have removed some that were read."""
        everything, made_at_before, made_at = await self._history(connection, before.revision, state.revision)
        rows = await connection.rows(_CHANGED_SCOPES, before.revision, _MAX_CHANGES + 1)
        is_restored = state.revision < before.revision or made_at_before != self._last_made_at
        if everything or is_restored or len(rows) > _MAX_CHANGES or before.catalogue != state.catalogue:
            self._on_change(Changes(everything=True))
        else:
            self._on_change(Changes(False, tuple(Scope(*row) for row in rows)))
        self._last_made_at = made_at

    async def _history(
        self, connection: RevisionConnection, before: int, now: int
    ) -> tuple[bool, datetime | None, datetime | None]:
        """Return whether any revision after `before` changed everything, and the times of both revisions."""
        ((everything, made_at_before, made_at),) = await connection.rows(_HISTORY, before, before, now)
        return everything, made_at_before, made_at

    async def _drop_connection(self) -> None:
        """Close the connection and drop everything: the next server may have other revisions."""
        connection, self._connection = self._connection, None
        self._drop_all()
        if connection is not None:
            await connection.close()

    def _drop_all(self) -> None:
        self._last = None
        self._on_change(Changes(everything=True))


_HISTORY = """
SELECT EXISTS (SELECT FROM overrides_revision WHERE revision > %s AND everything),
       (SELECT made_at FROM overrides_revision WHERE revision = %s),
       (SELECT made_at FROM overrides_revision WHERE revision = %s)
"""
# These can include later changes, which the next poll announces again; dropping twice is harmless.
_CHANGED_SCOPES = """
SELECT domain, project, workflow, launch_plan FROM overrides_scopehead WHERE revision > %s LIMIT %s
"""
