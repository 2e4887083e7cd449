"""The commit of a transaction: bounded in time, with an error of its own for an unknown outcome."""

from __future__ import annotations

import select
import time
from typing import Any

import psycopg
from django.db import OperationalError
from psycopg import Connection
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult


class OutcomeUnknown(OperationalError):
    """The connection ended, or the time was over, before Postgres confirmed the commit."""


# Where the primary is after a commit: at the commit or further.
POSITION = b"SELECT pg_walfile_name(lsn), lsn::text FROM pg_current_wal_insert_lsn() AS lsn"


def commit_within(opened: Connection[Any], seconds: float, question: bytes = b"") -> PGresult | None:
    """Commit the transaction of a connection. Raises OutcomeUnknown; psycopg.Error: it was rolled back.

    question: a statement for after the commit, in the same round trip; its result is returned.

    seconds: 0 for no limit. A commit hangs while no synchronous standby confirms it, and `statement_timeout`
    does not end it. To cancel it would be worse: Postgres then confirms what only it has. So the connection
    is closed, Postgres goes on waiting, and what the transaction has locked stays locked until it is known.
    """
    pgconn = opened.pgconn
    if pgconn.transaction_status == TransactionStatus.IDLE and pgconn.status == ConnStatus.OK:
        return None
    try:
        pgconn.send_query(b"COMMIT;" + question if question else b"COMMIT")
        results = _results(pgconn, time.monotonic() + seconds if seconds else None)
    except (psycopg.OperationalError, TimeoutError) as error:
        opened.close()
        raise OutcomeUnknown(str(error).strip()) from error
    if results[0].status == ExecStatus.COMMAND_OK:
        return results[1] if len(results) > 1 else None
    refusal = error_from_result(results[0], opened.info.encoding)
    if pgconn.status == ConnStatus.OK:
        # Postgres has answered, and goes on: nothing of the transaction is left.
        raise refusal
    opened.close()
    raise OutcomeUnknown(str(refusal).strip()) from refusal


def _results(pgconn: PGconn, deadline: float | None) -> list[PGresult]:
    """Wait for the results of what was sent. Raises TimeoutError, psycopg.OperationalError."""
    watch = select.poll()
    watch.register(pgconn.socket, select.POLLIN)
    pgconn.flush()
    results: list[PGresult] = []
    while True:
        while pgconn.is_busy():
            if not watch.poll(_milliseconds_until(deadline)):
                raise TimeoutError("Postgres did not confirm the commit in time.")
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is None:
            return results
        results.append(result)


def _milliseconds_until(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
