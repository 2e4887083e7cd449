"""Keep processes running: start again, with back-off, what dies; stop all when told to."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import FrameType

from controlplane.embedded.backoff import next_delay
from controlplane.embedded.programs import Program, Running, start, stop_all

_LOOK_SECONDS = 0.1
# The rest of the ten seconds that a stop may take is for the services underneath.
_STOP_SECONDS = 4.0


class StopRequested(Exception):
    """Somebody pressed Ctrl-C or sent SIGTERM."""


class Supervisor:
    """`say` prints a line for the operator."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._running: dict[str, Running] = {}
        self._delays: dict[str, float] = {}
        self._due: dict[str, tuple[float, Program]] = {}
        self._stopping = False

    def listen(self) -> None:
        """From now on SIGINT and SIGTERM ask for a stop; a second one kills at once."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def add(self, program: Program) -> Running:
        self._running[program.name] = start(program)
        return self._running[program.name]

    def adopt(self, running: Running) -> None:
        self._running[running.name] = running

    def pause(self, seconds: float) -> None:
        """Sleep, unless we were told to stop. Raises StopRequested."""
        if self._stopping:
            raise StopRequested
        time.sleep(seconds)
        if self._stopping:
            raise StopRequested

    def watch(self) -> None:
        """Start again what dies, until told to stop. Raises StopRequested."""
        while True:
            for name, running in list(self._running.items()):
                if not running.alive():
                    self._bury(name, running)
            now = time.monotonic()
            for name, (due, program) in list(self._due.items()):
                if due <= now:
                    del self._due[name]
                    self.add(program)
            self.pause(_LOOK_SECONDS)

    def stop(self, *, last: tuple[str, ...]) -> None:
        """Stop everything; those named in `last` after the others, which still need them."""
        first = [one for name, one in self._running.items() if name not in last]
        stop_all(first, patience=_STOP_SECONDS)
        stop_all([one for name, one in self._running.items() if name in last], patience=_STOP_SECONDS)

    def _bury(self, name: str, running: Running) -> None:
        # What the dead process had started itself must not run on beside its successor.
        stop_all([running], patience=0)
        del self._running[name]
        delay = next_delay(self._delays.get(name), lived=time.monotonic() - running.started_at)
        self._delays[name] = delay
        self._due[name] = (time.monotonic() + delay, running.program)
        self._say(
            f"{name} died (exit {running.process.returncode}); starting it again in {delay:g} s. "
            f"Its log: {running.program.log}"
        )

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._stopping:
            stop_all(self._running.values(), patience=0)
            raise SystemExit(128 + number)
        self._stopping = True
