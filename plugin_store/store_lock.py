"""The lock between processes: one of them changes a store at a time. The kernel frees it when that dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plugin_store.digests import damaged_store
from plugin_store.errors import StoreBusy

_PAUSE_SECONDS = 0.02


@contextmanager
def exclusive(path: Path, *, timeout: float) -> Iterator[None]:
    """Hold the lock file; raises StoreBusy after `timeout` seconds."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise damaged_store(path, f"It cannot be opened ({error.strerror}).") from error
    try:
        _acquire(descriptor, path, deadline=time.monotonic() + timeout, timeout=timeout)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, *, deadline: float, timeout: float) -> None:
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise _busy(path, timeout) from None
            time.sleep(_PAUSE_SECONDS)


def _busy(path: Path, timeout: float) -> StoreBusy:
    return StoreBusy(
        f"The plugin store {path.parent} is in use.",
        why=f"Another process has changed it for more than {timeout:g} s.",
        advice="Wait for it, and try again.",
    )
