"""Advisory locks of the installation, shared by all processes.

Numbers never change, because processes of two versions can run side by side. All locks end with their
transaction: a pooler gives a session to another process. For longer, see controlplane.cluster.leadership.
Sessions of older versions hold 7_402_116 and 7_402_120: do not use them again.
"""

from __future__ import annotations

from enum import IntEnum

from django.db import connection


class AdvisoryLock(IntEnum):
    # One synchronisation of the overrides' folder at a time.
    OVERRIDE_FILES = 7_402_113
    # Publishing, recomputing and writing the status of agent configurations.
    PUBLISHING = 7_402_114
    # One synchronisation of the agent configurations' folder at a time.
    AGENT_CONFIG_FILES = 7_402_115
    # Rotation of the keys that sign JWTs.
    SIGNING_KEYS = 7_402_118
    # Shared while messages of the outbox are sent; alone while those that NATS has lost are sent again.
    OUTBOX = 7_402_121
    # One process at a time looks for connections to NATS that must end.
    NATS_SESSIONS = 7_402_119
    # One process at a time queues events for sinks.
    EVENT_DISPATCH = 7_402_122
    # One sealing of the audit log at a time. Writers do not take it.
    AUDIT_SEALS = 7_402_130
    # One process at a time turns events into alerts and messages.
    NOTIFICATIONS = 7_402_140
    # Roles belong to the whole database cluster: one process at a time creates them.
    DATABASE_ROLES = 0x726F6C6573


def lock(lock_id: AdvisoryLock) -> None:
    """Wait for the lock, and hold it until the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock_id.value])


def try_lock(lock_id: AdvisoryLock) -> bool:
    """Take the lock until the end of the transaction; return False if another transaction holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [lock_id.value])
        return bool(cursor.fetchone()[0])


def lock_publishing() -> None:
    """Wait until no other transaction publishes or recomputes.

    Taken before any row lock, so that two publications cannot deadlock.
    """
    lock(AdvisoryLock.PUBLISHING)


def try_lock_publishing() -> bool:
    """Take the lock if it is free, so that a team's publication never waits for another team's recompute."""
    return try_lock(AdvisoryLock.PUBLISHING)
