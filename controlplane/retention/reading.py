"""Select rows of an archive, and restore them beside the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from django.db import connection, transaction
from psycopg import sql

from controlplane.retention.archive import lines
from controlplane.retention.logs import AUDIT, Log
from controlplane.retention.stores import Store


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows. Empty: all. until: rows before it."""

    type: str = ""
    object_type: str = ""
    object_id: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def wants(self, row: Mapping[str, Any], type_column: str) -> bool:
        at = datetime.fromisoformat(row["at"])
        return (
            self.type in ("", row[type_column])
            and self.object_type in ("", row["object_type"])
            and self.object_id in ("", row["object_id"])
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
        )


def select(log: Log, name: str, store: Store, wanted: Selection) -> Iterator[bytes]:
    """Yield the wanted rows of an archive as JSON lines, as they were archived."""
    type_column = "action" if log is AUDIT else "type"
    for line in lines(log, name, store):
        if wanted.wants(msgspec.json.decode(line), type_column):
            yield line


@transaction.atomic
def restore(log: Log, rows: Iterable[bytes], table: str) -> int:
    """Create a table like the log and put the rows into it. Return their number. Needs the tables' owner."""
    names = {"table": sql.Identifier(table), "log": sql.Identifier(log.table)}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(sql.SQL("CREATE TABLE {table} (LIKE {log})").format(**names))
        cursor.execute("CREATE TEMPORARY TABLE archived_lines (line jsonb) ON COMMIT DROP")
        with cursor.copy("COPY archived_lines FROM STDIN") as copy:
            for line in rows:
                copy.write_row((line.decode(),))
        cursor.execute(
            sql.SQL(
                "INSERT INTO {table} SELECT row.* FROM archived_lines"
                " CROSS JOIN LATERAL jsonb_populate_record(NULL::{log}, line) AS row"
            ).format(**names)
        )
        return int(cursor.rowcount)
