"""Progress of work that is done piece by piece: how many of how many, and about how long it still takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from cpctl.output import CLEAR_LINE
from cpctl.session import SESSION

Piece = TypeVar("Piece")
# Before, an estimate would jump.
_FIRST_SECONDS = 1.0


def with_progress(what: str, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the pieces, and show at a terminal how far it is."""
    if SESSION.quiet or not sys.stderr.isatty():
        yield from pieces
        return
    yield from _shown(what, pieces, len(pieces))


def progress_line(what: str, done: int, total: int, seconds: float) -> str:
    """Return such as `Replacing 12/300, about 8 s left`. seconds: that the work has taken so far."""
    line = f"{what} {done}/{total}"
    if not done or seconds < _FIRST_SECONDS:
        return line
    return f"{line}, about {max(1, round(seconds / done * (total - done)))} s left"


def _shown(what: str, pieces: Iterable[Piece], total: int) -> Iterator[Piece]:
    began_at = time.monotonic()
    try:
        for done, piece in enumerate(pieces):
            line = progress_line(what, done, total, time.monotonic() - began_at)
            sys.stderr.write(CLEAR_LINE + line)
            sys.stderr.flush()
            yield piece
    finally:
        sys.stderr.write(CLEAR_LINE)
        sys.stderr.flush()
