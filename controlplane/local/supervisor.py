"""Keep processes running: start again, with back-off, what dies or hangs; stop all when told to."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from controlplane.local.backoff import next_delay
from controlplane.local.errors import CannotStart, StopRequested
from controlplane.local.health_probe import Probe
from controlplane.local.programs import Running, stop_all

_LOOK_SECONDS = 0.1
# Of the ten seconds that a stop may take; the services underneath have four more.
_STOP_SECONDS = 4.0

Starter = Callable[[], Running]


@dataclass(slots=True)
class _Watched:
    """`due` is when to start it again; None while it runs. probe: tells whether it hangs."""

    starter: Starter
    running: Running
    delay: float | None = None
    due: float | None = None
    probe: Probe | None = None


class Supervisor:
    """`say` prints a line for the operator."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._watched: dict[str, _Watched] = {}
        self._signals = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """SIGINT and SIGTERM ask for a stop; a second one for an end to all patience."""
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as it is under nohup
            numbers.append(signal.SIGHUP)
        former = {number: signal.signal(number, self._on_signal) for number in numbers}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def start(self, name: str, starter: Starter) -> Running:
        """Start it now, and from now on whenever it has died."""
        return self.adopt(name, starter(), again=starter)

    def adopt(self, name: str, running: Running, *, again: Starter) -> Running:
        """Watch what runs already."""
        self._watched[name] = _Watched(again, running)
        return running

    def probe(self, name: str, probe: Probe) -> None:
        """From now on, start it again also when it does not answer any more."""
        self._watched[name].probe = probe
        probe.start()

    def pause(self, seconds: float) -> None:
        """Sleep, unless we were told to stop. Raises StopRequested."""
        if self._signals == 0:
            time.sleep(seconds)
        if self._signals > 0:
            raise StopRequested

    def in_a_hurry(self) -> bool:
        return self._signals > 1

    def watch(self) -> None:
        """Start again what dies, until told to stop. Raises StopRequested."""
        while True:
            self.look()
            self.pause(_LOOK_SECONDS)

    def look(self) -> None:
        """Note who has died, end who hangs, and start whose time has come."""
        for name, one in self._watched.items():
            if one.due is None and not one.running.alive():
                how = f"died (exit {one.running.process.returncode})"
                self._put_off(name, how, lived=self._clock() - one.running.started_at)
            elif one.due is None and one.probe is not None and one.probe.is_silent():
                self._end_hung(name, one.probe)
            elif one.due is not None and one.due <= self._clock():
                self._start_again(name)

    def stop(self, names: set[str]) -> None:
        """Stop these, and do not start them again."""
        gone = [self._watched.pop(name) for name in names & set(self._watched)]
        for one in gone:
            if one.probe is not None:
                one.probe.stop()
        stop_all([one.running for one in gone], patience=_STOP_SECONDS, hurry=self.in_a_hurry)

    def names(self) -> set[str]:
        return set(self._watched)

    def _end_hung(self, name: str, probe: Probe) -> None:
        one = self._watched[name]
        how = f"did not answer for {probe.allowed():g} s and was ended"
        one.running.kill()
        probe.note_restart()
        self._put_off(name, how, lived=self._clock() - one.running.started_at)

    def _start_again(self, name: str) -> None:
        one = self._watched[name]
        if one.probe is not None:
            one.probe.note_start()
        try:
            one.running = one.starter()
            one.due = None
        except (CannotStart, OSError) as error:
            self._put_off(name, f"cannot start ({error})", lived=0.0)

    def _put_off(self, name: str, what: str, *, lived: float) -> None:
        one = self._watched[name]
        one.delay = next_delay(one.delay, lived=lived)
        one.due = self._clock() + one.delay
        log = one.running.program.log
        self._say(f"{name} {what}; starting it again in {one.delay:g} s. Its log: {log}")

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
