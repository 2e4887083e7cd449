"""Advisory locks of the installation: one number each, over all processes.

Numbers never change: processes of two versions may run side by side.
"""

from __future__ import annotations

from enum import IntEnum

from django.db import connection


class AdvisoryLock(IntEnum):
    # One synchronisation of the overrides' folder at a time.
    OVERRIDE_FILES = 7_402_113
    # Whoever publishes, recomputes or writes the status of agent configurations.
    PUBLISHING = 7_402_114
    # One synchronisation of the agent configurations' folder at a time.
    AGENT_CONFIG_FILES = 7_402_115
    # Held by the session of the one watcher that writes what the cluster holds.
    AGENT_CONFIG_CLUSTER = 7_402_116
    # Roles belong to the whole database cluster: one process at a time creates them.
    DATABASE_ROLES = 0x726F6C6573


def lock(number: AdvisoryLock) -> None:
    """Wait for the lock; it is held to the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number.value])


def try_lock(number: AdvisoryLock) -> bool:
    """Take the lock to the end of the transaction; False if another transaction holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [number.value])
        return bool(cursor.fetchone()[0])


def lock_publishing() -> None:
    """Wait until nobody else publishes or recomputes.

    Taken before any row is locked, so that two publications never wait for each other.
    """
    lock(AdvisoryLock.PUBLISHING)


def try_lock_publishing() -> bool:
    """Take the lock if it is free: a team's publication never waits for the recompute of another's."""
    return try_lock(AdvisoryLock.PUBLISHING)
