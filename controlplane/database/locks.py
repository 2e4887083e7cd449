"""One lock over all processes for whoever publishes, recomputes or writes how documents stand."""

from __future__ import annotations

from django.db import connection

# Any number that nothing else locks.
_LOCK = 7_402_114


def lock_publishing() -> None:
    """Wait until nobody else publishes or recomputes; it holds to the end of the transaction.

    Taken before any row is, so that two publications never wait for each other.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def try_lock_publishing() -> bool:
    """Take the lock if it is free: a team's publication never waits for the recompute of another's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])
