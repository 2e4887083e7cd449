"""Leftover processes of an earlier supervisor that was killed with -9: find and stop them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from controlplane.local.errors import CannotStart

# Set in the environment of all our programs, and inherited by their children.
MARK = "CONTROLPLANE_SUPERVISED_IN"
# These overwrite their environment, but have a path of ours in their command line.
_PATHS = {
    b"postgres": b"/postgres",
    b"valkey-server": b"/valkey/server.conf",
    b"nats-server": b"/nats/server.json",
}
# Postgres writes a checkpoint; the programs have nothing to finish without their services.
_SERVICE_SECONDS = 8.0
_PROGRAM_SECONDS = 2.0
_LAST_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """The command line and environment of a process; both empty for a zombie."""

    pid: int
    words: tuple[bytes, ...]
    environment: tuple[bytes, ...]

    def is_named(self, program: bytes) -> bool:
        # Also up to a blank: Valkey rewrites its command line as one word. Sessions of Postgres are named
        # "postgres: ..." and are stopped by their parent.
        first = self.words[0] if self.words else b""
        return re.search(rb"(^|/)" + re.escape(program) + rb"( |$)", first) is not None


def belongs_to(folder: Path, process: ProcessInfo) -> bool:
    """True if the process provably belongs to `folder`; a pid file is no proof, as ids are reused."""
    marked = os.fsencode(MARK) + b"=" + os.fsencode(folder) in process.environment
    return marked or is_service(folder, process)


def is_service(folder: Path, process: ProcessInfo) -> bool:
    path = os.fsencode(folder)
    return any(
        process.is_named(program)
        and (path + sign in process.words or process.words[0].endswith(b" " + path + sign))
        for program, sign in _PATHS.items()
    )


def stop_leftovers(folder: Path, *, pause: Callable[[float], None] = time.sleep) -> int:
    """Stop all processes that belong to `folder`, whose lock the caller must hold. Return their number."""
    started_at = time.monotonic()
    signalled: set[int] = set()
    while remaining := [process for process in _processes() if belongs_to(folder, process)]:
        waited = time.monotonic() - started_at
        if waited > _LAST_SECONDS:
            numbers = ", ".join(str(process.pid) for process in remaining)
            raise CannotStart(
                f"Process {numbers} of an earlier run uses {folder} and cannot be stopped. Stop it with"
                " kill -9, then try again."
            )
        for process in remaining:
            _send(process, _signal_for(process, folder, waited=waited, is_signalled=process.pid in signalled))
            signalled.add(process.pid)
        pause(0.05)
    while (
        any(_has_running_threads(pid) for pid in signalled) and time.monotonic() - started_at < _LAST_SECONDS
    ):
        pause(0.02)
    return len(signalled)


def _signal_for(
    process: ProcessInfo, folder: Path, *, waited: float, is_signalled: bool
) -> signal.Signals | None:
    if waited > (_SERVICE_SECONDS if is_service(folder, process) else _PROGRAM_SECONDS):
        return signal.SIGKILL
    if is_signalled:
        return None
    # On SIGTERM, Postgres would wait for all clients to disconnect.
    return signal.SIGINT if process.is_named(b"postgres") else signal.SIGTERM


def _has_running_threads(pid: int) -> bool:
    """True while threads of a dead process still hold its sockets."""
    try:
        threads = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return False
    return any(stat.rpartition(")")[2].split()[0] not in "ZX" for stat in threads)


def _processes() -> Iterator[ProcessInfo]:
    ours = {os.getpid(), os.getppid()}
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) not in ours:
            yield ProcessInfo(int(entry.name), _read(entry / "cmdline"), _read(entry / "environ"))


def _read(file: Path) -> tuple[bytes, ...]:
    try:
        # Valkey pads its overwritten command line with zeros.
        return tuple(file.read_bytes().rstrip(b"\0 ").split(b"\0"))
    except OSError:  # it has ended, or belongs to another user
        return ()


def _send(process: ProcessInfo, number: signal.Signals | None) -> None:
    if number is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)
