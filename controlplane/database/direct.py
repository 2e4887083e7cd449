"""Small reads through libpq itself, on Django's connection of this thread.

Around a statement of one row, the cursors of Django and psycopg take ten times the processor time of libpq.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from django.db import connection
from psycopg import Connection
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from controlplane.database.slow_statements import note_statement

_BINARY = 1


def direct_connection() -> Connection[Any] | None:
    """Return the connection of this thread, opened if needed; None if statements must go through Django.

    They must where somebody watches them, or where Django begins the transaction with its first statement.
    """
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    opened: Connection[Any] = connection.connection
    if connection.queries_logged or connection.execute_wrappers:
        return None
    if not opened.autocommit and opened.pgconn.transaction_status == TransactionStatus.IDLE:
        return None
    return opened


def read_binary(opened: Connection[Any], statement: bytes) -> PGresult:
    """Run one statement without parameters; its values are in Postgres' binary formats.

    Not prepared by name: a pooler may give the next statement another connection. Raises DatabaseError.
    """
    began_at = time.perf_counter()
    try:
        with connection.wrap_database_errors:
            return _checked(opened, opened.pgconn.exec_params(statement, None, result_format=_BINARY))
    finally:
        note_statement(statement, began_at)


def read_rows(opened: Connection[Any], statement: bytes) -> list[tuple[Any, ...]]:
    """Run one statement that contains its parameters; return rows as Django's cursor does.

    Raises DatabaseError.
    """
    began_at = time.perf_counter()
    try:
        with connection.wrap_database_errors:
            result = _checked(opened, opened.pgconn.exec_(statement))
            transformer = Transformer(opened)
            transformer.set_pgresult(result)
            return transformer.load_rows(0, result.ntuples, tuple)
    finally:
        note_statement(statement, began_at)


def literals(opened: Connection[Any], values: Iterable[Any]) -> list[bytes]:
    """Return values as SQL, as Django's cursor writes them."""
    transformer = Transformer(opened)
    return [transformer.as_literal(value) for value in values]


def _checked(opened: Connection[Any], result: PGresult) -> PGresult:
    if result.status != ExecStatus.TUPLES_OK:
        raise error_from_result(result, opened.info.encoding)
    return result
