"""A connection of the event loop's own to Django's database, with one prepared statement.

For the fast paths, which speak to libpq directly: psycopg's cursors cost more than their statements.
"""

from __future__ import annotations

from typing import Any

from django.db import connection as django_connection
from psycopg import AsyncConnection, OperationalError
from psycopg.pq import ExecStatus

_OF_DJANGO = ("cursor_factory", "context", "prepare_threshold")


async def connect_prepared(
    application: str, *, options: str, name: bytes, statement: bytes
) -> AsyncConnection[Any]:
    """Connect as Django does. application: as pg_stat_activity shows it. Raises psycopg.Error."""
    said = django_connection.get_connection_params()
    said = {name: value for name, value in said.items() if name not in _OF_DJANGO}
    said["options"] = f"{said.get('options', '')} {options}".strip()
    said["application_name"] = application
    connection = await AsyncConnection.connect(**said, autocommit=True)
    prepared = connection.pgconn.prepare(name, statement)
    if prepared.status != ExecStatus.COMMAND_OK:
        await connection.close()
        raise OperationalError(prepared.get_error_message())
    return connection
