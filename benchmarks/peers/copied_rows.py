"""The limit of an apply: COPY of the rows that it wrote into the same tables, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from controlplane.ids import uuid7

_SCOPE = "project, domain, workflow, launch_plan"
_VERSION = "attributes::text, owners::text, declared_in, version, revision, changed_by, change_message"


@dataclass(frozen=True, slots=True)
class Written:
    """A table that an apply writes. columns: the columns that it sends; ids: new for each row."""

    table: str
    columns: str
    source: str

    def select(self) -> str:
        return f"SELECT {self.columns} FROM {self.table} WHERE {self.source} ORDER BY {_SCOPE}"

    def copy(self) -> str:
        return f"COPY {self.table} ({self.columns.replace('::text', '')}) FROM STDIN"


_OF_REVISION = "revision = %(revision)s"
_OF_REQUEST = "request_id = (SELECT request_id FROM overrides_revision WHERE revision = %(revision)s)"
TABLES = (
    Written(
        "overrides_overrideversion",
        f"override_id, resource_type, {_SCOPE}, {_VERSION}, changed_at, request_id",
        _OF_REVISION,
    ),
    Written("overrides_override", f"id, resource_type, {_SCOPE}, {_VERSION}, changed_at", _OF_REVISION),
    Written("overrides_scopehead", f"revision, {_SCOPE}", _OF_REVISION),
    Written(
        "access_auditrecord",
        f"actor_id, actor, action, object_type, object_id, {_SCOPE}, team_id, before::text, after::text,"
        " reason, request_id, client, identity, session_hint",
        _OF_REQUEST,
    ),
    Written(
        "events_event",
        f"id, type, object_type, object_id, {_SCOPE}, actor, request_id, team_id, data::text",
        _OF_REQUEST,
    ),
)


def copy_again(url: str, old: str, new: str) -> float:
    """Seconds to COPY the rows of the last revision with other launch plans: `old` becomes `new`."""
    with psycopg.connect(url) as connection:
        revision = {"revision": _number(connection, "SELECT max(revision) FROM overrides_revision")}
        rows = [_rows(connection.execute(table.select(), revision), old, new) for table in TABLES]
    copies = [list(copied) for copied in rows]
    with psycopg.connect(url) as connection:
        began = time.perf_counter()
        for table, copied in zip(TABLES, copies, strict=True):
            with connection.cursor().copy(table.copy()) as copy:
                for row in copied:
                    copy.write_row(row)
        connection.commit()
        return time.perf_counter() - began


def _rows(cursor: psycopg.Cursor[Any], old: str, new: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows at other scopes, with new ids in the first column, where it has ids."""
    for first, *rest in cursor.fetchall():
        identifier = uuid7() if isinstance(first, UUID) else first
        yield (identifier, *(value.replace(old, new) if isinstance(value, str) else value for value in rest))


def _number(connection: psycopg.Connection[Any], statement: str) -> int:
    row: Sequence[int] | None = connection.execute(statement).fetchone()
    assert row is not None
    return row[0]
