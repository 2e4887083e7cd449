"""Attempts that meet the locks of others: again after a pause, so that nobody waits for long behind them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from django.db import OperationalError
from psycopg.errors import DeadlockDetected, LockNotAvailable

# Others wait behind a lock that a migration waits for: for so long at most.
LOCK_SECONDS = 1.0
TRIES = 20
_PAUSE_SECONDS = 0.5


def met_a_lock(error: BaseException) -> bool:
    return isinstance(error.__cause__, LockNotAvailable | DeadlockDetected)


def with_retries(
    attempt: Callable[[], object],
    progress: Callable[[], int],
    say: Callable[[str], None],
    *,
    tries: int = TRIES,
    pause_seconds: float = _PAUSE_SECONDS,
) -> None:
    """Repeat an attempt that met a lock. Each that gets further gives all tries again.

    progress: a number that grows with what is done. Raises OperationalError after the last try.
    """
    left, done = tries, progress()
    while True:
        try:
            attempt()
        except OperationalError as error:
            if not met_a_lock(error):
                raise
            reached = progress()
            left, done = (left - 1 if reached <= done else tries - 1), reached
            if left <= 0:
                raise
            say(f"Another transaction holds a lock that is needed. Trying again, {left} times at most.")
            time.sleep(pause_seconds * random.uniform(0.5, 1.5))  # noqa: S311  (no secret)
        else:
            return
