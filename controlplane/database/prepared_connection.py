"""An asynchronous connection to Django's database with one prepared statement.

For the fast paths. They use libpq directly, because psycopg's cursors cost more than their statements.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import connection as django_connection
from psycopg import AsyncConnection, OperationalError
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from controlplane.database.primary import (
    ALL_OLD,
    ASK,
    OldTimeline,
    attempts,
    host_of,
    primary,
    server_of,
)
from controlplane.database.timelines import Server

_NAME = b"prepared"
_BINARY = 1
_DJANGO_ONLY = ("cursor_factory", "context", "prepare_threshold")


class PreparedConnection:
    """Runs one statement at a time: callers await the result before the next call."""

    def __init__(self, connection: AsyncConnection[Any], server: Server) -> None:
        self._connection = connection
        self._pgconn: PGconn = connection.pgconn
        self._descriptor = self._pgconn.socket
        self._loop = asyncio.get_running_loop()
        self._pending: asyncio.Future[list[PGresult]] | None = None
        self._results: list[PGresult] = []
        self._listening = False
        self._host = host_of(self._pgconn)
        # A primary never gets another timeline while it is up.
        self._server = server

    @classmethod
    async def open(cls, statement: bytes, *, application: str, options: str) -> PreparedConnection:
        """Connect to Django's database without a pooler, and prepare the statement. Raises psycopg.Error.

        application: as pg_stat_activity shows it. options: for libpq, such as `-c statement_timeout=2000`.
        """
        parameters = _session_parameters()
        parameters["options"] = f"{parameters.get('options', '')} {options}".strip()
        parameters["application_name"] = application
        connection, server = await _connect(parameters)
        result = connection.pgconn.prepare(_NAME, statement)
        if result.status != ExecStatus.COMMAND_OK:
            await connection.close()
            raise OperationalError(result.get_error_message())
        prepared_connection = cls(connection, server)
        prepared_connection._listen()
        return prepared_connection

    async def execute(self, parameters: Sequence[bytes] = ()) -> list[PGresult]:
        """Run the prepared statement; return after its commit. Raises psycopg.Error.

        Parameters and results are in Postgres' binary formats. A commit that nobody confirms in time ends the
        connection: the next statement would wait behind it.
        """
        if primary.is_old(self._server):
            raise OldTimeline("The server is a former primary.")
        self._pgconn.send_query_prepared(_NAME, parameters, [_BINARY] * len(parameters), _BINARY)
        self._pending = self._loop.create_future()
        if self._pgconn.flush():  # a large statement may not fit into the socket at once
            self._loop.add_writer(self._descriptor, self._flush_rest)
        results = await self._confirmed(self._pending)
        for result in results:
            if result.status != ExecStatus.TUPLES_OK:
                raise OperationalError(result.get_error_message())
        return results

    async def _confirmed(self, pending: asyncio.Future[list[PGresult]]) -> list[PGresult]:
        seconds = settings.DATABASE_COMMIT_WAIT_SECONDS
        if not seconds:
            return await pending
        timer = self._loop.call_later(seconds, self._give_up, seconds)
        try:
            return await pending
        finally:
            timer.cancel()

    def _give_up(self, seconds: float) -> None:
        self._stop_listening()
        self._pgconn.finish()
        primary.avoid(self._host)
        self._fail(OperationalError(f"Postgres did not confirm the statement within {seconds} s."))

    async def rows(self, statement: str, *parameters: int) -> list[tuple[Any, ...]]:
        """Run any other statement, through a cursor of psycopg. Raises psycopg.Error."""
        # psycopg adds a reader of its own, and removes it.
        self._stop_listening()
        try:
            cursor = await self._connection.execute(statement, parameters, prepare=True)
            return await cursor.fetchall()
        finally:
            if not self._connection.closed:
                self._listen()

    async def close(self) -> None:
        """Close the connection. If a statement is not answered yet, other hosts are tried first."""
        if self._pending is not None and not self._pending.done():
            primary.avoid(self._host)
        self._stop_listening()
        await self._connection.close()

    def _listen(self) -> None:
        self._listening = True
        self._loop.add_reader(self._descriptor, self._read)

    def _stop_listening(self) -> None:
        """Remove the reader once only: the descriptor of a broken connection may already be reused."""
        if self._listening:
            self._listening = False
            self._loop.remove_reader(self._descriptor)
            self._loop.remove_writer(self._descriptor)

    def _flush_rest(self) -> None:
        try:
            if not self._pgconn.flush():
                self._loop.remove_writer(self._descriptor)
        except Exception as error:
            self._stop_listening()
            self._fail(error)

    def _read(self) -> None:
        """Read results. Rows can arrive before the commit, so wait until no result is left."""
        try:
            self._pgconn.consume_input()
            while not self._pgconn.is_busy():
                result = self._pgconn.get_result()
                if result is None:
                    self._finish()
                    return
                self._results.append(result)
        except Exception as error:
            self._stop_listening()
            self._fail(error)

    def _finish(self) -> None:
        results, self._results = self._results, []
        if self._pending is not None and not self._pending.done():
            self._pending.set_result(results)

    def _fail(self, error: Exception) -> None:
        if self._pending is not None and not self._pending.done():
            self._pending.set_exception(error)


async def _connect(parameters: Mapping[str, Any]) -> tuple[AsyncConnection[Any], Server]:
    """Connect to a server that is no former primary. Raises psycopg.Error."""
    for _ in attempts(parameters):
        connection = await AsyncConnection.connect(**primary.ordered(parameters), autocommit=True)
        try:
            rows = await (await connection.execute(ASK)).fetchall()
            ((system, wal_file),) = rows
        except BaseException:
            await connection.close()
            raise
        server = server_of(system, wal_file)
        if primary.admit(server, host_of(connection.pgconn)):
            return connection, server
        await connection.close()
    raise OldTimeline(ALL_OLD)


def _session_parameters() -> dict[str, Any]:
    """Return the parameters of a connection that nobody else uses, also behind a pooler."""
    parameters: dict[str, Any] = django_connection.get_connection_params()
    if settings.DATABASE_DIRECT is not None:
        # Tests use a database of another name.
        return {**settings.DATABASE_DIRECT, "dbname": parameters["dbname"]}
    return {name: value for name, value in parameters.items() if name not in _DJANGO_ONLY}
