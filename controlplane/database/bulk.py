"""Send many rows to Postgres, by COPY or as one JSON parameter of a statement."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from django.conf import settings
from django.db import connection, models
from psycopg import sql


def copy_rows(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """COPY rows into the model's table. Columns that are not listed get the database's defaults."""
    table = sql.Identifier(model._meta.db_table)
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    if settings.ORGANISATIONS:
        # Postgres refuses COPY into tables with row-level security.
        values = sql.SQL(", ").join([sql.Placeholder()] * len(columns))
        statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(table, names, values)
        with connection.cursor() as cursor:
            cursor.executemany(statement, [tuple(row) for row in rows])
        return
    with (
        # Otherwise a full disk or a lost connection would raise errors of psycopg, not of Django.
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(table, names)) as copy,
    ):
        for row in rows:
            copy.write_row(row)


def recordset(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as one parameter of `json_to_recordset(...)`: ten times as fast to send as arrays."""
    return msgspec.json.encode(list(rows)).decode()


def as_json(value: Mapping[str, Any] | None) -> str | None:
    """Return a document for a jsonb column; None is SQL's NULL."""
    if value is None:
        return None
    try:
        return msgspec.json.encode(value).decode()
    except OverflowError:  # an integer of more than 64 bits
        return json.dumps(value)
