"""Checks of the database as the processes reach it: `manage.py check --database default`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connection

from controlplane.database.roles import APPLICATION


@register(Tags.database)
def sessions_have_limits(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that limits hold behind a pooler, to which connections cannot bring theirs."""
    if not databases or settings.DATABASE_POOLER == "none":
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, name, setting FROM pg_settings WHERE name = ANY(%s)",
            [list(settings.DATABASE_LIMITS)],
        )
        rows = cursor.fetchall()
    wrong = [
        f"{name} is {value}, not {settings.DATABASE_LIMITS[name]}"
        for role, name, value in rows
        if role in APPLICATION and value != settings.DATABASE_LIMITS[name]
    ]
    if not wrong:
        return []
    return [
        Error(
            f"Sessions of {rows[0][0]} lack limits (in ms): {'; '.join(sorted(wrong))}.",
            hint="Run manage.py database_roles as the database's owner, then RECONNECT in PgBouncer.",
            id="cluster.E001",
        )
    ]
