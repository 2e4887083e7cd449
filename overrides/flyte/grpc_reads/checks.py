"""What a batch of reads must know of the database before its answers: a look that began after its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from overrides.api.effective.fast_path.revision_check import Changes, RevisionCheck
from overrides.api.effective.fast_path.revision_connection import RevisionState


class Checks:
    """Passes changes to `on_change` before any call is answered."""

    def __init__(self, on_change: Callable[[Changes], None]) -> None:
        self._revision = RevisionCheck(on_change)

    async def look(self) -> RevisionState | None:
        """Return what applies now; None if the database does not answer."""
        answer: asyncio.Future[RevisionState | None] = asyncio.get_running_loop().create_future()

        def answered(state: RevisionState | None) -> None:
            if not answer.done():
                answer.set_result(state)

        self._revision.poll(answered)
        return await answer

    async def close(self) -> None:
        await self._revision.close()


def fingerprint_of(state: RevisionState) -> bytes:
    """Return what differs after every change of projects and domains."""
    return state.catalogue + state.contents
