"""What an earlier supervisor, killed -9, left running: children of its children still hold the port.

Our processes carry a mark in their environment. Whoever holds the lock of the data folder knows that
every process with the folder's mark has lost its supervisor.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

MARK = "CONTROLPLANE_SUPERVISED_IN"
_PATIENCE_SECONDS = 5.0


def stop_leftovers(data_dir: Path) -> int:
    """Kill them and wait until they are gone; return how many there were. Needs the folder's lock."""
    found = _marked(data_dir)
    for pid in found:
        _kill(pid)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while any(_lives(pid) for pid in found) and time.monotonic() < deadline:
        time.sleep(0.05)
    return len(found)


def _marked(data_dir: Path) -> list[int]:
    mark = os.fsencode(f"{MARK}={data_dir}")
    folders = Path("/proc").glob("[0-9]*")
    return [int(one.name) for one in folders if one.name != str(os.getpid()) and mark in _environment(one)]


def _lives(pid: int) -> bool:
    """False once all its threads have ended: the last of them closes its sockets."""
    try:
        states = [_state(thread) for thread in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return False
    return any(state not in "ZX" for state in states)


def _state(thread: Path) -> str:
    return (thread / "stat").read_text().rpartition(")")[2].split()[0]


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is somebody else's
        return []


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
