"""Whether this server is about to stop: in memory that the parent shares with the workers that it forks."""

from __future__ import annotations

import mmap

_flag = mmap.mmap(-1, 1)


def announce() -> None:
    """Let `/readyz` answer 503 `stopping` in all workers."""
    _flag[0] = 1


def is_announced() -> bool:
    return _flag[0] == 1
