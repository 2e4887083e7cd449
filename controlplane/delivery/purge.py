"""Delete deliveries and attempts that nobody needs any more, in small parts.

Partitions by day would not hold the key that keeps a dispatcher from queueing an event twice.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection

DELIVERIES_KEPT = timedelta(days=14)
DEAD_KEPT = timedelta(days=90)
ATTEMPTS_KEPT = timedelta(days=7)
_BATCH = 5_000


def purge() -> tuple[int, int]:
    """Delete what is old enough; return the numbers of deliveries and attempts."""
    # Attempts first: deliveries take theirs with them.
    attempts = _delete(_OLD_ATTEMPTS, {"kept": ATTEMPTS_KEPT})
    deliveries = _delete(_OLD_DELIVERIES, {"kept": DELIVERIES_KEPT, "dead": DEAD_KEPT})
    return deliveries, attempts


def _delete(statement: str, ages: dict[str, Any]) -> int:
    """Repeat the statement, each time in a transaction of its own, until it finds no more."""
    total = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(statement, {**ages, "batch": _BATCH})
            count = int(cursor.rowcount)
        total += count
        if count < _BATCH:
            return total


_OLD_ATTEMPTS = """
DELETE FROM delivery_deliveryattempt WHERE id IN (
    SELECT id FROM delivery_deliveryattempt WHERE at < statement_timestamp() - %(kept)s LIMIT %(batch)s
)
"""
_OLD_DELIVERIES = """
WITH old AS (
    SELECT id FROM delivery_delivery
    WHERE settled_at < statement_timestamp() - %(kept)s
      AND (state <> 'dead' OR settled_at < statement_timestamp() - %(dead)s)
    LIMIT %(batch)s FOR UPDATE SKIP LOCKED
), attempts AS (
    DELETE FROM delivery_deliveryattempt WHERE delivery_id IN (SELECT id FROM old)
)
DELETE FROM delivery_delivery WHERE id IN (SELECT id FROM old)
"""
