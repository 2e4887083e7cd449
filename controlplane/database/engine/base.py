"""Django's Postgres engine (`ENGINE`): checks of connections by their socket, and commits that end in time.

It also refuses former primaries: see controlplane.database.primary.

Django would run `SELECT 1` before each request: a quarter of the statements of a small one.
"""

from __future__ import annotations

import select
import time
from datetime import UTC
from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.postgresql import base
from django.db.backends.utils import debug_transaction
from django.utils.functional import cached_property
from psycopg import Connection
from psycopg.pq import ExecStatus

from controlplane.database import silence
from controlplane.database.changes import ErrorWrapper
from controlplane.database.commit import POSITION, OutcomeUnknown, commit_within
from controlplane.database.engine.timestamps import with_utc_loader
from controlplane.database.primary import ALL_OLD, OldTimeline, attempts, host_of, primary, read_server
from controlplane.database.slow_statements import TimedCursor
from controlplane.database.timelines import Server

# A firewall can drop a connection that is idle without a word, so it is asked now and then all the same.
_CHECK_SECONDS = 1.0


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to Postgres. Django looks for the class by this name."""

    health_check_done: bool
    _answered_at = float("-inf")
    _server = Server("", None)
    _host = ("", "")
    # Whether commits shall say where they are in the write-ahead log, and where the last one is: the name of
    # its file and its LSN.
    wants_position = False
    committed_at: tuple[str, str] | None = None

    @cached_property
    def wrap_database_errors(self) -> ErrorWrapper:
        """Return the context of each statement, which turns errors of psycopg into those of Django."""
        return ErrorWrapper(self)

    def get_connection_params(self) -> dict[str, Any]:
        """Return the parameters of psycopg's connections."""
        parameters: dict[str, Any] = super().get_connection_params()
        if settings.USE_TZ and self.timezone is UTC:
            parameters["context"] = with_utc_loader(parameters["context"])
        return parameters

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection[Any]:
        """Connect to a host that is no former primary. Raises psycopg.OperationalError."""
        for _ in attempts(conn_params):
            opened: Connection[Any] = super().get_new_connection(primary.ordered(conn_params))
            self._host = host_of(opened.pgconn)
            self._server = read_server(opened.pgconn)
            if primary.admit(self._server, self._host):
                self._answered_at = time.monotonic()
                silence.watch.watch(opened)
                return opened
            opened.close()
        raise OldTimeline(ALL_OLD)

    def make_cursor(self, cursor: Any) -> TimedCursor:
        """Return a cursor that logs slow statements."""
        return TimedCursor(cursor, self)

    def close_if_health_check_failed(self) -> None:
        """Close the connection if it does not work, at the first statement of a request."""
        if not self.health_check_done and self._is_surely_open():
            self.health_check_done = True
        else:
            super().close_if_health_check_failed()

    def is_usable(self) -> bool:
        """Return whether a server that is no former primary answers on the connection."""
        self._answered_at = float("-inf")
        if self.connection is None:
            return False
        try:
            self._server = read_server(self.connection.pgconn)
        except psycopg.Error:
            return False
        if not primary.admit(self._server, self._host):
            return False
        self._answered_at = time.monotonic()
        return True

    def _commit(self) -> None:
        """Commit; Django calls it at the end of a transaction. Raises OutcomeUnknown."""
        if self.connection is None:
            return
        with debug_transaction(self, "COMMIT"), self.wrap_database_errors:
            try:
                question = POSITION if self.wants_position else b""
                answer = commit_within(self.connection, settings.DATABASE_COMMIT_WAIT_SECONDS, question)
            except OutcomeUnknown:
                primary.avoid(self._host)
                raise
        if answer is not None and answer.status == ExecStatus.TUPLES_OK:
            walfile, lsn = answer.get_value(0, 0), answer.get_value(0, 1)
            if walfile and lsn:
                self.committed_at = (walfile.decode(), lsn.decode())

    def _is_surely_open(self) -> bool:
        """Return whether Postgres has just answered, and has not closed the connection since.

        A server that stops, restarts or ends a connection closes the socket, which then is readable.
        """
        if self.connection is None or time.monotonic() - self._answered_at > _CHECK_SECONDS:
            return False
        if self.connection.closed or primary.is_old(self._server):
            return False
        watch = select.poll()
        watch.register(self.connection.fileno(), select.POLLIN)
        return not watch.poll(0)
