"""Files and folders that survive a crash: written, flushed to disk, and then renamed into place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from plugin_store.digests import damaged_store

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to disk."""
    descriptor = os.open(folder, _FOLDER_FLAGS)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_tree(folder: Path) -> None:
    """Flush every file and folder below a folder to disk, and the folder itself."""
    for current, _, files in os.walk(folder, topdown=False):
        for name in files:
            descriptor = os.open(Path(current, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        flush_folder(Path(current))


def make_folder(folder: Path) -> None:
    """Make a folder below an existing one, unless it is there; raises StoreDamaged for a link or a file."""
    try:
        folder.mkdir(mode=0o755)
        flush_folder(folder.parent)
    except FileExistsError:
        if folder.is_symlink() or not folder.is_dir():
            raise damaged_store(folder, "It is not a folder.") from None


def read_file(path: Path) -> bytes | None:
    """The content of a file, or None; raises StoreDamaged for a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise damaged_store(path, f"It cannot be opened ({error.strerror}).") from error
    with open(descriptor, "rb") as file:
        return file.read()


def replace_file(path: Path, content: bytes, *, scratch: Path, before_replacing: Callable[[], None]) -> None:
    """Replace a file: readers see the old content or the new one. `scratch` is a folder beside it."""
    temporary = scratch / uuid4().hex
    with temporary.open("xb") as file:
        file.write(content)
        file.flush()
        os.fchmod(file.fileno(), 0o644)
        os.fsync(file.fileno())
    before_replacing()
    os.replace(temporary, path)
    flush_folder(path.parent)
