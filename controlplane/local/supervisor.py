"""Supervisor: restarts programs that exit or hang, with backoff, and stops them all at the end."""

from __future__ import annotations

import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from types import FrameType

from controlplane.local.errors import CannotStart, StopRequested
from controlplane.local.programs import RunningProgram, stop_all
from controlplane.observability.hung_workers import patience

FIRST_SECONDS = 0.5
LONGEST_SECONDS = 30.0
# A program that ran this long was healthy: its next restart has no delay from before.
HEALTHY_AFTER_SECONDS = 60.0


_PAUSE_SECONDS = 5.0
_TIMEOUT_SECONDS = 5.0
# A program that was just started needs time before its first response.
_START_SECONDS = 60.0
_CHECK_SECONDS = 0.1
# A stop takes ten seconds at most, of which the services have four more.
_STOP_SECONDS = 4.0


def next_delay(previous: float | None, *, lived: float) -> float:
    """Return the backoff before a restart in seconds: doubled each time, reset after a healthy run."""
    if previous is None or lived >= HEALTHY_AFTER_SECONDS:
        return FIRST_SECONDS
    return min(previous * 2, LONGEST_SECONDS)


class Probe:
    """Checks whether a program responds to HTTP. seconds: allowed silence, doubled by recent restarts."""

    def __init__(self, url: str, *, seconds: float) -> None:
        self._url = url
        self._seconds = seconds
        self._silence = 0.0
        self._restarts: list[float] = []
        self._stopped = Event()

    def start(self) -> None:
        Thread(target=self._run, name="probe", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def is_silent(self) -> bool:
        return self._silence > self.allowed()

    def allowed(self) -> float:
        return patience(self._seconds, restarts=self._restarts, now=time.monotonic())

    def note_restart(self) -> None:
        """Record a restart, which allows a longer silence."""
        self._restarts.append(time.monotonic())
        self.note_start()

    def note_start(self) -> None:
        self._silence = -_START_SECONDS

    def _run(self) -> None:
        while not self._stopped.wait(_PAUSE_SECONDS):
            began = time.monotonic()
            if self._answers():
                self._silence = 0.0
            else:
                # Excludes the time in which this process itself did not run.
                waited = min(time.monotonic() - began, _TIMEOUT_SECONDS)
                self._silence += waited + _PAUSE_SECONDS

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self._url, timeout=_TIMEOUT_SECONDS).close()  # noqa: S310  (our own URL)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True


Starter = Callable[[], RunningProgram]


@dataclass(slots=True)
class _Supervised:
    """A supervised program. due: time of its restart; None while it runs. probe: detects whether it hangs."""

    starter: Starter
    running: RunningProgram
    delay: float | None = None
    due: float | None = None
    probe: Probe | None = None


class Supervisor:
    """Restarts programs until it is stopped. `say` prints a line for the operator."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._programs: dict[str, _Supervised] = {}
        self._signals = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM: the first requests a graceful stop, the second an immediate one."""
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
            numbers.append(signal.SIGHUP)
        former = {number: signal.signal(number, self._on_signal) for number in numbers}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def start(self, name: str, starter: Starter) -> RunningProgram:
        """Start a program, and restart it whenever it exits."""
        return self.adopt(name, starter(), again=starter)

    def adopt(self, name: str, running: RunningProgram, *, again: Starter) -> RunningProgram:
        """Supervise a running program."""
        self._programs[name] = _Supervised(again, running)
        return running

    def probe(self, name: str, probe: Probe) -> None:
        """Also restart a program when it no longer responds."""
        self._programs[name].probe = probe
        probe.start()

    def pause(self, seconds: float) -> None:
        """Sleep. Raises StopRequested after a signal."""
        if self._signals == 0:
            time.sleep(seconds)
        if self._signals > 0:
            raise StopRequested

    def is_hurried(self) -> bool:
        return self._signals > 1

    def watch(self) -> None:
        """Supervise all programs. Raises StopRequested after a signal."""
        while True:
            self.check()
            self.pause(_CHECK_SECONDS)

    def check(self) -> None:
        """Detect exited programs, kill hung ones, and restart those that are due."""
        for name, program in self._programs.items():
            if program.due is None and not program.running.alive():
                how = f"exited with code {program.running.process.returncode}"
                self._schedule_restart(name, how, lived=self._clock() - program.running.started_at)
            elif program.due is None and program.probe is not None and program.probe.is_silent():
                self._kill_hung(name, program.probe)
            elif program.due is not None and program.due <= self._clock():
                self._restart(name)

    def stop(self, names: set[str]) -> None:
        """Stop these programs for good."""
        stopped = [self._programs.pop(name) for name in names & set(self._programs)]
        for program in stopped:
            if program.probe is not None:
                program.probe.stop()
        stop_all([program.running for program in stopped], patience=_STOP_SECONDS, hurry=self.is_hurried)

    def names(self) -> set[str]:
        return set(self._programs)

    def _kill_hung(self, name: str, probe: Probe) -> None:
        program = self._programs[name]
        how = f"did not respond for {probe.allowed():g} s and was stopped"
        program.running.kill()
        probe.note_restart()
        self._schedule_restart(name, how, lived=self._clock() - program.running.started_at)

    def _restart(self, name: str) -> None:
        program = self._programs[name]
        if program.probe is not None:
            program.probe.note_start()
        try:
            program.running = program.starter()
            program.due = None
        except (CannotStart, OSError) as error:
            self._schedule_restart(name, f"could not start ({error})", lived=0.0)

    def _schedule_restart(self, name: str, what: str, *, lived: float) -> None:
        program = self._programs[name]
        program.delay = next_delay(program.delay, lived=lived)
        program.due = self._clock() + program.delay
        log = program.running.program.log
        self._say(f"{name} {what}. Restart in {program.delay:g} s. Log: {log}")

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
