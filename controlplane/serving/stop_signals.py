"""Signals to stop, for programs with an event loop that serve on a port of their own."""

from __future__ import annotations

import asyncio
import contextlib
import signal


class StopSignals:
    """SIGTERM and SIGINT. Must be created in a running event loop."""

    def __init__(self) -> None:
        self._first, self._second = asyncio.Event(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._note)

    async def wait(self) -> None:
        """Wait for the first signal."""
        await self._first.wait()

    async def leave(self, seconds: float) -> None:
        """Go on serving until load balancers send nothing more, or until a second signal."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._second.wait(), seconds)

    def _note(self) -> None:
        (self._second if self._first.is_set() else self._first).set()
