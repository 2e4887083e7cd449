"""What an earlier supervisor, killed -9, may have left on a data folder: found, proved ours, stopped."""

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

# Programs of ours carry it in their environment, and so do their own children.
MARK = "CONTROLPLANE_SUPERVISED_IN"
# These write over their environment, but name a path of ours on their command line.
_SIGNS = {
    b"postgres": b"/postgres",
    b"valkey-server": b"/valkey/server.conf",
    b"nats-server": b"/nats/server.json",
}
# Postgres writes a checkpoint; the rest has nothing to finish without its services.
_SERVICE_SECONDS = 8.0
_PROGRAM_SECONDS = 2.0
_LAST_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Facts:
    """What the kernel tells of a process. A zombie has neither words nor environment."""

    pid: int
    words: tuple[bytes, ...]
    environment: tuple[bytes, ...]

    def is_named(self, program: bytes) -> bool:
        # Up to a blank, too: Valkey rewrites its command line as one word. The sessions of Postgres
        # call themselves "postgres: ..." and are left to their parent.
        first = self.words[0] if self.words else b""
        return re.search(rb"(^|/)" + re.escape(program) + rb"( |$)", first) is not None


def belongs_to(folder: Path, process: Facts) -> bool:
    """True only with proof: a number in a pid file may be somebody else's by now."""
    marked = os.fsencode(MARK) + b"=" + os.fsencode(folder) in process.environment
    return marked or is_service(folder, process)


def is_service(folder: Path, process: Facts) -> bool:
    path = os.fsencode(folder)
    return any(
        process.is_named(program)
        and (path + sign in process.words or process.words[0].endswith(b" " + path + sign))
        for program, sign in _SIGNS.items()
    )


def stop_orphans(folder: Path, *, pause: Callable[[float], None] = time.sleep) -> int:
    """Stop what belongs to `folder`, which the caller must hold alone. Returns how many there were."""
    began = time.monotonic()
    asked: set[int] = set()
    while left := [one for one in _processes() if belongs_to(folder, one)]:
        waited = time.monotonic() - began
        if waited > _LAST_SECONDS:
            numbers = ", ".join(str(one.pid) for one in left)
            raise CannotStart(f"process {numbers} of an earlier run uses {folder} and cannot be stopped.")
        for one in left:
            _send(one, _fitting_signal(one, folder, waited=waited, asked=one.pid in asked))
            asked.add(one.pid)
        pause(0.05)
    while any(_holds_something(pid) for pid in asked) and time.monotonic() - began < _LAST_SECONDS:
        pause(0.02)
    return len(asked)


def _fitting_signal(one: Facts, folder: Path, *, waited: float, asked: bool) -> signal.Signals | None:
    if waited > (_SERVICE_SECONDS if is_service(folder, one) else _PROGRAM_SECONDS):
        return signal.SIGKILL
    if asked:
        return None
    # For Postgres SIGTERM would mean: wait for every client to leave.
    return signal.SIGINT if one.is_named(b"postgres") else signal.SIGTERM


def _holds_something(pid: int) -> bool:
    """Until the last of its threads has ended, a dead process keeps its sockets."""
    try:
        threads = [one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return False
    return any(stat.rpartition(")")[2].split()[0] not in "ZX" for stat in threads)


def _processes() -> Iterator[Facts]:
    ours = {os.getpid(), os.getppid()}
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) not in ours:
            yield Facts(int(entry.name), _read(entry / "cmdline"), _read(entry / "environ"))


def _read(file: Path) -> tuple[bytes, ...]:
    try:
        # Valkey pads what it wrote over with zeros.
        return tuple(file.read_bytes().rstrip(b"\0 ").split(b"\0"))
    except OSError:  # it ended meanwhile, or is not ours to look at
        return ()


def _send(one: Facts, number: signal.Signals | None) -> None:
    if number is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one.pid, number)
