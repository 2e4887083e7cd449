"""The database's clock: one clock for all processes, by which ages and expiries are judged."""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """Return the start of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now: datetime = cursor.fetchone()[0]
    return now


def statement_now() -> datetime:
    """Return the start of the statement: after waiting for a lock, it is later than `database_now`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
