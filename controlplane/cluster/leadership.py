"""Leadership: one process at a time acts in a role, by a lease that is a row.

An advisory lock of a session would be simpler. Behind a pooler two processes can have the same session, and
after a failover the new primary knows no locks: both would act.
"""

from __future__ import annotations

import os
from datetime import timedelta
from enum import StrEnum
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection

from controlplane.ids import uuid7

# Longer than a pause of garbage collection, and short enough that another process takes over within 15 s.
LEASE = timedelta(seconds=6)


class Role(StrEnum):
    """What one process at a time may do. Names never change: processes of two versions share the rows."""

    CONSUMER_MONITOR = "consumer_monitor"
    AGENT_CONFIG_CLUSTER = "agent_config_cluster"
    BEAT = "beat"
    BACKFILLS = "backfills"


def lead(role: Role, *, lease: timedelta = LEASE, holder: UUID | None = None) -> int | None:
    """Become the leader, or stay it; return the epoch, or None if another process leads.

    Within a transaction, nobody else can become the leader until it ends: what is written in it is written by
    the leader. A new leader raises the epoch. Judged by the database's clock.
    """
    parameters: dict[str, Any] = {"role": role.value, "holder": holder or process_id(), "lease": lease}
    with connection.cursor() as cursor:
        cursor.execute(_LEAD, parameters)
        row = cursor.fetchone()
    return None if row is None else int(row[0])


def resign(role: Role, *, holder: UUID | None = None) -> None:
    """End the leadership of this process, if it leads, so that another process need not wait."""
    with connection.cursor() as cursor:
        cursor.execute(_RESIGN, {"role": role.value, "holder": holder or process_id()})


def process_id() -> UUID:
    """Return an id of this process. A child has its own."""
    return _id_of(os.getpid())


@cache
def _id_of(_: int) -> UUID:
    return uuid7()


_LEAD = """
INSERT INTO cluster_leadership AS leader (role, holder, epoch, expires_at)
VALUES (%(role)s, %(holder)s, 1, clock_timestamp() + %(lease)s)
    ON CONFLICT (role) DO UPDATE
   SET holder = excluded.holder, expires_at = excluded.expires_at,
       epoch = leader.epoch + CASE WHEN leader.holder = excluded.holder THEN 0 ELSE 1 END
 WHERE leader.holder = excluded.holder OR leader.expires_at <= clock_timestamp()
RETURNING epoch
"""
_RESIGN = """
UPDATE cluster_leadership SET expires_at = '-infinity' WHERE role = %(role)s AND holder = %(holder)s
"""
