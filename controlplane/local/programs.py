"""Child processes: each in a session of its own, so that Ctrl-C in the terminal reaches only us."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LOG_BYTES = 20_000_000
_TAIL_BYTES = 64_000


@dataclass(frozen=True, slots=True)
class Program:
    """How to start one process.

    `stop_signal` makes it end in good order. `withheld` are prefixes of names in our environment
    that it must not inherit.
    """

    name: str
    command: tuple[str, ...]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    withheld: tuple[str, ...] = ()
    directory: Path | None = None


@dataclass(slots=True)
class Running:
    program: Program
    process: subprocess.Popen[bytes]
    started_at: float

    @property
    def name(self) -> str:
        return self.program.name

    def alive(self) -> bool:
        """False once it has ended; what it had started itself is then killed too."""
        if self.process.returncode is not None:
            return False
        with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored the kernel reaps
            if os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return True
        # Before it is reaped: until then its number, and so its group, cannot be another's.
        self._kill_group()
        self.process.wait()
        return False

    def ask_to_stop(self) -> None:
        if self.alive():
            self.process.send_signal(self.program.stop_signal)

    def kill(self) -> None:
        if self.alive():
            self._kill_group()
            self.process.wait()

    def _kill_group(self) -> None:
        # Between fork and setsid there is no group yet.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


def start(program: Program) -> Running:
    """Start it. Call from a thread that lives as long: the kernel ends the child with that thread."""
    program.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _make_room(program.log)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(program.withheld)}
    with program.log.open("ab") as log:
        process = subprocess.Popen(
            program.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**kept, **program.environment},
            cwd=program.directory,
            umask=0o077,
            start_new_session=True,
            preexec_fn=partial(_end_with_parent, program.stop_signal, os.getpid()),  # noqa: PLW1509
        )
    return Running(program, process, time.monotonic())


def run_to_end(program: Program, *, pause: Callable[[float], None]) -> int:
    """Run it, return its exit code. `pause` may raise: then it is killed."""
    running = start(program)
    try:
        while running.alive():
            pause(0.02)
    finally:
        running.kill()
    return int(running.process.returncode)


def stop_all(
    running: Iterable[Running], *, patience: float, hurry: Callable[[], bool] = lambda: False
) -> None:
    """End them all: politely for `patience` seconds or until `hurry`, then not."""
    everyone = list(running)
    for one in everyone:
        one.ask_to_stop()
    deadline = time.monotonic() + patience
    while any([one.alive() for one in everyone]):
        if time.monotonic() > deadline or hurry():
            break
        time.sleep(0.02)
    for one in everyone:
        one.kill()


def tail(path: Path, lines: int) -> str:
    """The last lines of a log, for an operator to read."""
    if not path.exists():
        return ""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])


def _make_room(log: Path) -> None:
    """Keep one former log, so that a year of starts does not fill the disk."""
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))


_libc = ctypes.CDLL(None, use_errno=True)


def _end_with_parent(number: signal.Signals, parent: int) -> None:
    """Linux: be told to stop when the supervisor dies, kill -9 included, so that nothing is orphaned."""
    if hasattr(_libc, "prctl"):
        _libc.prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)
