"""Folders and files that nobody else on the machine may read; folders that one process holds alone."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.local.errors import CannotStart


def private_folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def stable_private_folder(base: Path, name: str) -> Path:
    """A folder of this name in a place that others write to; under another name if they made it first."""
    folder = base / name
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    is_ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077
    return folder if is_ours else Path(tempfile.mkdtemp(prefix=f"{name}-", dir=base))


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step: a reader sees the old text or the new, and no other user any."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """Hold a lock that the kernel gives back when we die, kill -9 included. Raises CannotStart."""
    with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = file.read().strip() or "unknown"
            raise CannotStart(
                f"{lock.parent} is in use by another `make up` (process {holder}). "
                "Stop that one, or choose another folder: make up DATA_DIR=..."
            ) from error
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
