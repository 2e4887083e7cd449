"""Child processes: each in a session of its own, so that Ctrl-C in the terminal reaches only us."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Program:
    """How to start one process. `stop_signal` is the one that makes it end in good order."""

    name: str
    command: tuple[str, ...]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    stdin: bytes = b""


@dataclass(slots=True)
class Running:
    program: Program
    process: subprocess.Popen[bytes]
    started_at: float

    @property
    def name(self) -> str:
        return self.program.name

    def alive(self) -> bool:
        return self.process.poll() is None


def start(program: Program) -> Running:
    """Start it. Call from the main thread: the child dies with the thread that made it."""
    program.log.parent.mkdir(parents=True, exist_ok=True)
    with program.log.open("ab") as log:
        process = subprocess.Popen(
            program.command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **program.environment},
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509  (one call into libc; we start no threads)
        )
    assert process.stdin is not None
    process.stdin.write(program.stdin)
    process.stdin.close()
    return Running(program, process, time.monotonic())


def stop_all(running: Iterable[Running], *, patience: float) -> None:
    """End them all, politely for `patience` seconds, then not. Signals only what we started."""
    living = [one for one in running if one.alive()]
    for one in living:
        _signal(one, one.program.stop_signal)
    deadline = time.monotonic() + patience
    while any(one.alive() for one in living) and time.monotonic() < deadline:
        time.sleep(0.02)
    for one in living:
        # The group, for what the process itself has started and left behind.
        _signal_group(one, signal.SIGKILL)
        one.process.wait()


def tail(path: Path, lines: int) -> str:
    """The last lines of a log, for an operator to read."""
    if not path.exists():
        return ""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def _signal(one: Running, number: signal.Signals) -> None:
    if one.alive():
        one.process.send_signal(number)


def _signal_group(one: Running, number: signal.Signals) -> None:
    # Nobody may be left in the group.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(one.process.pid, number)


_libc = ctypes.CDLL(None, use_errno=True)


def _die_with_parent() -> None:
    """Linux: be killed when the supervisor dies, kill -9 included, so that nothing is orphaned."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
