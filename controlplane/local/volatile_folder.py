"""A folder for files that need not survive a restart, not on the disk that holds the data.

Figures for Prometheus are files mapped into memory: where the disk is full, the kernel kills whoever writes
to a new page of one. And beat ends when it cannot write its schedule.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.local.private_files import private_folder, stable_private_folder

_LEAST_BYTES = 32 * 1024 * 1024


@contextmanager
def volatile_folder(data: Path) -> Iterator[Path]:
    """Yield an empty folder, closed to others, and remove it at the end. data: where the data is."""
    folder = _choose(data)
    # Figures of dead processes would be added to those of the living.
    for leftover in folder.iterdir():
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _choose(data: Path) -> Path:
    name = f"cp-volatile-{os.geteuid()}-{hashlib.sha256(os.fsencode(data)).hexdigest()[:12]}"
    for base in (Path("/dev/shm"), Path(tempfile.gettempdir())):  # noqa: S108  (private, see below)
        if _is_elsewhere(base, data):
            return stable_private_folder(base, name)
    return private_folder(data / "run" / "volatile")


def _is_elsewhere(base: Path, data: Path) -> bool:
    try:
        free = shutil.disk_usage(base).free
        return base.stat().st_dev != data.stat().st_dev and os.access(base, os.W_OK) and free >= _LEAST_BYTES
    except OSError:
        return False
