"""Which server is the primary, as far as this process knows.

A server that was cut off while another one was promoted still takes itself for the primary: it accepts
connections, answers reads with what it had, and confirms no change. Connections to it are refused as soon as
this process has seen a higher timeline, and the other hosts are tried first from then on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import psycopg
import structlog
from prometheus_client import Counter
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn

from controlplane.database.hosts import Host, hosts_of, in_order
from controlplane.database.timelines import Server, highest_of, is_old

log = structlog.get_logger(__name__)
REFUSED = Counter(
    "cp_db_former_primary_refused_total", "Connections to a former primary of Postgres that were refused."
)
# Seconds for which `/readyz` reports a refused former primary.
_REFUSED_SECONDS = 30.0
# A standby has no position to write at, and the function would fail there.
ASK = b"""
SELECT (SELECT system_identifier::text FROM pg_control_system()),
       CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_walfile_name(pg_current_wal_lsn()) END
"""
ALL_OLD = "Each host that accepts writes is a former primary: another one was promoted. Shut it down."
# The first digits of the name of a WAL file.
_TIMELINE_DIGITS = 8


class OldTimeline(psycopg.OperationalError):
    """The server is a former primary."""


class Primary:
    """What the connections of one process have seen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The highest timeline of each system, and that of servers which told it to this process itself.
        self._highest: dict[str, int] = {}
        self._witnessed: dict[str, int] = {}
        self._preferred: Host | None = None
        self._avoided: frozenset[Host] = frozenset()
        self._refused_at = float("-inf")

    def ordered(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a new connection, with the likeliest host first."""
        return dict(in_order(parameters, preferred=self._preferred, avoided=self._avoided))

    def is_old(self, server: Server) -> bool:
        """Return whether the server is a former primary. Costs no round trip."""
        return is_old(server, self._highest)

    def admit(self, server: Server, host: Host) -> bool:
        """Note what a server says; return False, and log it, if the server is a former primary."""
        with self._lock:
            if not is_old(server, self._highest):
                self._note(server, host)
                return True
            self._refused_at = time.monotonic()
            self._avoid(host)
        highest = self._highest[server.system]
        REFUSED.inc()
        log.warning("database.old_timeline", host=_text(host), timeline=server.timeline, highest=highest)
        return False

    def witnessed(self) -> Mapping[str, int]:
        """Return the highest timeline of each system that a server told to this process itself."""
        return self._witnessed

    def learn(self, seen: Mapping[str, int]) -> None:
        """Note the timelines that other processes have seen by now, in place of what they told before."""
        with self._lock:
            self._highest = highest_of(self._witnessed, seen)

    def avoid(self, host: Host) -> None:
        """Try this host last: it has confirmed a change not in time, or answered nothing."""
        with self._lock:
            self._avoid(host)

    def has_refused(self) -> bool:
        """Return whether a connection to a former primary was refused within the last half minute."""
        return time.monotonic() - self._refused_at < _REFUSED_SECONDS

    def _note(self, server: Server, host: Host) -> None:
        if server.timeline is None:
            return
        if server.timeline > self._witnessed.get(server.system, 0):
            self._witnessed = {**self._witnessed, server.system: server.timeline}
        if server.timeline > self._highest.get(server.system, 0):
            self._highest = {**self._highest, server.system: server.timeline}
        if host != self._preferred or host in self._avoided:
            self._preferred, self._avoided = host, self._avoided - {host}

    def _avoid(self, host: Host) -> None:
        self._avoided |= {host}
        if self._preferred == host:
            self._preferred = None


def read_server(pgconn: PGconn) -> Server:
    """Ask a server about itself, on an idle connection. Raises psycopg.OperationalError."""
    result = pgconn.exec_(ASK)
    if result.status != ExecStatus.TUPLES_OK:
        raise psycopg.OperationalError(result.get_error_message())
    system, name = result.get_value(0, 0), result.get_value(0, 1)
    return server_of((system or b"").decode(), None if name is None else name.decode())


def server_of(system: str, wal_file: str | None) -> Server:
    """Read the answer to `ASK`."""
    return Server(system, None if wal_file is None else int(wal_file[:_TIMELINE_DIGITS], 16))


def host_of(pgconn: PGconn) -> Host:
    """Return the host of an open connection, as the URL calls it."""
    return pgconn.host.decode(), pgconn.port.decode()


def attempts(parameters: Mapping[str, Any]) -> range:
    """Return one number for each host: each may turn out to be a former primary."""
    return range(len(hosts_of(parameters)))


def _text(host: Host) -> str:
    return ":".join(host)


# One for all threads: what one of them has seen holds for the others.
primary = Primary()
