"""Statements to which nothing answers: a machine that freezes keeps its connections open.

Postgres' own `statement_timeout` stands still with it, and its kernel may still confirm what arrives, so that
neither keepalives nor `tcp_user_timeout` notice. Without this, each thread hangs until the machine goes on.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import structlog
from django.conf import settings
from psycopg import Connection, OperationalError
from psycopg.pq import ConnStatus, TransactionStatus

from controlplane.database.primary import host_of, primary

log = structlog.get_logger(__name__)
_PERIOD_SECONDS = 1.0
# Of Linux' tcp_info: milliseconds since data was sent, and since data was received.
_SENT, _RECEIVED, _TCP_INFO_BYTES = 44, 52, 56


class SilenceWatch:
    """Closes connections whose statement gets no byte of an answer for too long.

    Only in processes that call `enable`. Statements without a time limit are for others, or for `paused`.
    """

    def __init__(self) -> None:
        self._enabled = False
        self._pauses = 0
        self._connections: weakref.WeakSet[Connection[Any]] = weakref.WeakSet()
        self._process: int | None = None
        self._lock = threading.Lock()

    def enable(self) -> None:
        """Watch all connections that this process, or a child of it, opens from now on."""
        self._enabled = True

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Let this process run statements without a time limit."""
        with self._lock:
            self._pauses += 1
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1

    def watch(self, opened: Connection[Any]) -> None:
        """Watch a connection until it is closed."""
        if not self._enabled or not limit_seconds():
            return
        with self._lock:
            if self._process != os.getpid():
                self._process, self._connections = os.getpid(), weakref.WeakSet()
                threading.Thread(target=self._run, name="database-silence", daemon=True).start()
            self._connections.add(opened)

    def _run(self) -> None:
        while True:
            time.sleep(_PERIOD_SECONDS)
            with self._lock:
                connections = [] if self._pauses else list(self._connections)
            for opened in connections:
                close_if_silent(opened, limit_seconds())


def limit_seconds() -> float:
    """Return how long a server may be silent: longer than any limit with an answer of its own. 0: always."""
    timeout = int(settings.DATABASE_LIMITS["statement_timeout"]) / 1000
    return max(timeout, settings.DATABASE_COMMIT_WAIT_SECONDS) + 1 if timeout else 0


def close_if_silent(opened: Connection[Any], limit: float) -> bool:
    """Shut a connection down whose server has been silent for longer; its thread gets an error at once."""
    pgconn = opened.pgconn
    # Errors: its thread has closed it meanwhile, or it has no TCP.
    with contextlib.suppress(OperationalError, OSError):
        if pgconn.status != ConnStatus.OK or pgconn.transaction_status != TransactionStatus.ACTIVE:
            return False
        host = host_of(pgconn)
        # A descriptor of our own, which nobody else can close and open again for something else.
        with socket.socket(fileno=os.dup(pgconn.socket)) as ours:
            if silent_seconds(ours) <= limit or pgconn.transaction_status != TransactionStatus.ACTIVE:
                return False
            ours.shutdown(socket.SHUT_RDWR)
        primary.avoid(host)
        log.warning("database.silent", host=":".join(host), seconds=limit)
        return True
    return False


def silent_seconds(connected: socket.socket) -> float:
    """Return the time since data was last sent or received. Raises OSError: it is no TCP."""
    info = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    ages: list[int] = [struct.unpack_from("=I", info, offset)[0] for offset in (_SENT, _RECEIVED)]
    return min(ages) / 1000


watch = SilenceWatch()
