"""Retries of changes that conflict with concurrent changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Current = TypeVar("Current")
Result = TypeVar("Result")
ATTEMPTS = 5


def retry_on_conflict(
    current: Current,
    attempt: Callable[[Current], Result],
    read_again: Callable[[Current], Current],
    *,
    is_conflict: Callable[[Exception], bool],
) -> Result:
    """Attempt a change of the current state. After a conflict, read it again and retry."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt(current)
        except Exception as error:
            if not is_conflict(error):
                raise
        current = read_again(current)
    return attempt(current)
