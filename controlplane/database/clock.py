"""The database's clock: ages of claims are judged by one clock, whichever process asks."""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """When the transaction began."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now: datetime = cursor.fetchone()[0]
    return now
