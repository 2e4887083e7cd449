"""Statements that a process runs about itself, with the cursor of Django or of psycopg."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection

from controlplane.ids import uuid7
from controlplane.members.builds import this_build


class Cursor(Protocol):
    """The common methods of Django's cursors and psycopg's."""

    def execute(self, query: Any, params: Any = None, /) -> Any: ...
    def fetchone(self) -> Any: ...


Connect = Callable[[], AbstractContextManager[Cursor]]


@dataclass(frozen=True, slots=True)
class ThisProcess:
    """This process. instance: by default its host and process id."""

    process: str
    instance: str = ""
    id: UUID = field(default_factory=uuid7)
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)


@contextmanager
def django_cursor() -> Iterator[Cursor]:
    """Open a cursor of this thread, and close the connection: an idle one is not worth its memory."""
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()


def cursor_at(url: str) -> Connect:
    """Return how to open a cursor at a database that is not the one of the settings."""

    @contextmanager
    def connect() -> Iterator[Cursor]:
        limits = "-c statement_timeout=5000 -c lock_timeout=2000"
        opened = psycopg.connect(url, autocommit=True, connect_timeout=5, options=limits)
        with opened, opened.cursor() as cursor:
            yield cursor

    return connect


def note_alive(cursor: Cursor, me: ThisProcess, age_seconds: float) -> str:
    """Write that the process runs; return the oldest version that may, empty if nobody recorded it."""
    build = this_build()
    row = {
        "id": me.id,
        "process": me.process,
        "instance": me.instance or f"{me.host}-{me.pid}",
        "host": me.host,
        "pid": me.pid,
        "version": build.version,
        "commit": settings.BUILD_COMMIT,
        "schema": json.dumps(dict(build.schema)),
        "age": age_seconds,
    }
    cursor.execute(_ALIVE, row)
    (oldest,) = cursor.fetchone()
    return oldest or ""


def forget(cursor: Cursor, me: ThisProcess) -> None:
    """Delete the row of a process that ends in good order."""
    cursor.execute("DELETE FROM members_member WHERE id = %s", [me.id])


def forget_dead(cursor: Cursor) -> None:
    """Delete rows of processes that were killed more than a day ago."""
    cursor.execute(_FORGET_DEAD)


_ALIVE = """
INSERT INTO members_member (id, process, instance, host, pid, version, "commit", schema, started_at, seen_at)
VALUES (%(id)s, %(process)s, left(%(instance)s, 255), left(%(host)s, 255), %(pid)s, %(version)s, %(commit)s,
        %(schema)s::jsonb, statement_timestamp() - make_interval(secs => %(age)s), statement_timestamp())
ON CONFLICT (id) DO UPDATE SET seen_at = statement_timestamp()
RETURNING (SELECT oldest_process FROM members_schemarecord WHERE id = 1)
"""
# Several processes may do so at once: each skips what another one deletes.
_FORGET_DEAD = """
DELETE FROM members_member WHERE id IN (
    SELECT id FROM members_member WHERE seen_at < statement_timestamp() - interval '1 day'
       FOR UPDATE SKIP LOCKED)
"""
