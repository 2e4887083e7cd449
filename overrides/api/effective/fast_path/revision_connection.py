"""The connection that looks: one small prepared statement, read by libpq itself.

psycopg's cursors cost twice the processor time of the statement, which shows when twenty requests share
a look. So the look goes to libpq directly (psycopg.pq); the rare questions after a change use a cursor.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection, OperationalError
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn

from controlplane.database.prepared_connection import connect_prepared

_TIMEOUT = "-c statement_timeout=2000"
_NAME = b"look"
_OUR_NAME = "controlplane-fast-reads"


@dataclass(slots=True)
class Sight:
    """What one look saw. written: the transaction that wrote the revision, so that a restored database
    whose revisions rise again is told apart. now: Postgres's clock, in seconds since 1970."""

    revision: int
    written: bytes
    access: bytes
    catalogue: bytes
    now: float


class LookConnection:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection
        self._libpq: PGconn = connection.pgconn
        self._descriptor = self._libpq.socket
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Sight | None] | None = None

    @classmethod
    async def open(cls) -> LookConnection:
        """Connect as Django does. Raises psycopg.Error."""
        connection = await connect_prepared(_OUR_NAME, options=_TIMEOUT, name=_NAME, statement=_LOOK)
        opened = cls(connection)
        opened._listen()
        return opened

    async def look(self) -> Sight | None:
        """None if the database lacks the rows that we look at. Raises psycopg.Error."""
        self._answer = self._loop.create_future()
        self._libpq.send_query_prepared(_NAME, None)
        if self._libpq.flush():  # a statement of a few bytes always fits
            raise OperationalError("The statement could not be sent.")
        return await self._answer

    async def rows(self, statement: str, *parameters: int) -> list[tuple[Any, ...]]:
        """Ask anything else, between two looks."""
        try:
            cursor = await self._connection.execute(statement, parameters, prepare=True)
            return await cursor.fetchall()
        finally:
            # psycopg takes the reader away when it has read.
            self._listen()

    async def close(self) -> None:
        self._loop.remove_reader(self._descriptor)
        await self._connection.close()

    def _listen(self) -> None:
        self._loop.add_reader(self._descriptor, self._readable)

    def _readable(self) -> None:
        """The socket has something: a part of the answer, all of it, or the end of the connection."""
        waiting = self._answer
        try:
            self._libpq.consume_input()
            if self._libpq.is_busy():
                return
            sight = self._read()
        except Exception as error:
            self._loop.remove_reader(self._descriptor)
            if waiting is not None and not waiting.done():
                waiting.set_exception(error)
        else:
            if waiting is not None and not waiting.done():
                waiting.set_result(sight)

    def _read(self) -> Sight | None:
        result, sight = self._libpq.get_result(), None
        while result is not None:
            if result.status != ExecStatus.TUPLES_OK:
                raise OperationalError(result.get_error_message())
            if result.ntuples:
                values = [result.get_value(0, column) or b"" for column in range(5)]
                sight = Sight(int(values[0]), values[1], values[2], values[3], float(values[4]))
            result = self._libpq.get_result()
        return sight


_LOOK = b"""
SELECT counter.revision, counter.xmin, access.epoch, catalogue.epoch, extract(epoch FROM now())
FROM overrides_revisioncounter AS counter, access_epoch AS access, overrides_catalogueepoch AS catalogue
WHERE counter.id = 1 AND access.id = 1 AND catalogue.id = 1
"""
