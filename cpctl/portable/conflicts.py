"""Changes that may meet those of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")
Done = TypeVar("Done")
MEETINGS = 5


def over_what_was_seen(
    seen: Seen,
    attempt: Callable[[Seen], Done],
    look_again: Callable[[Seen], Seen],
    *,
    too_late: Callable[[Exception], bool],
) -> Done:
    """Attempt a change over what was seen. Where somebody came first, look again and attempt it over that."""
    for _ in range(MEETINGS - 1):
        try:
            return attempt(seen)
        except Exception as error:
            if not too_late(error):
                raise
        seen = look_again(seen)
    return attempt(seen)
