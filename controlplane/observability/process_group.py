"""Figures of the processes of one group, such as a web server's workers: files in PROMETHEUS_MULTIPROC_DIR.

Each process writes files of its own. What ended processes have counted is added up in one file of each kind,
so that it stays and the folder does not grow; what they had in use counts no longer. A group is on one
machine, or in one container: whether a process runs is asked of this kernel.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
# Kinds of figures that only rise.
_ADDED_UP = ("counter", "histogram")
_ENDED = "ended"
# Locks of files hold between processes, and not between threads of one.
_threads = threading.Lock()


def group_folder() -> Path | None:
    """Return the folder of this process' group; None if it is alone."""
    folder = os.environ.get(_VARIABLE)
    return Path(folder) if folder else None


def families_of_group(folder: Path) -> list[Metric]:
    """Return the figures of all processes of the group, also of those that have ended."""
    with _exclusive(folder):
        _forget_ended(folder)
        collector = MultiProcessCollector(None, str(folder))  # type: ignore[no-untyped-call]
        return list(collector.collect())  # type: ignore[no-untyped-call]


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """Wait until nobody else reads the folder. Not with `flock`, whose lock a forked child would keep."""
    with _threads, (folder / "lock").open("a") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        yield


def _forget_ended(folder: Path) -> None:
    by_kind: dict[str, list[Path]] = {}
    for file in folder.glob("*.db"):
        kind, _, process = file.stem.rpartition("_")
        if process.isdigit() and not is_running(int(process)):
            by_kind.setdefault(kind, []).append(file)
    for kind, files in by_kind.items():
        if kind in _ADDED_UP:
            _add_up(folder / f"{kind}_{_ENDED}.db", files)
        elif kind.startswith("gauge_live"):
            for file in files:
                file.unlink(missing_ok=True)


def _add_up(total: Path, files: Iterable[Path]) -> None:
    """Add the files to the total, and delete them. A kill between the two steps counts them twice."""
    files = list(files)
    values: dict[str, float] = {}
    for file in [*([total] if total.exists() else []), *files]:
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(file)):  # type: ignore[no-untyped-call]
            values[key] = values.get(key, 0.0) + value
    unfinished = total.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    written = MmapedDict(str(unfinished))  # type: ignore[no-untyped-call]
    for key, value in values.items():
        written.write_value(key, value, 0.0)  # type: ignore[no-untyped-call]
    written.close()  # type: ignore[no-untyped-call]
    unfinished.replace(total)
    for file in files:
        file.unlink(missing_ok=True)


def is_running(process: int) -> bool:
    """Return whether it can still count: one that has ended and was not waited for cannot."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")
