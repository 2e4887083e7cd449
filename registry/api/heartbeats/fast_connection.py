"""The connection that renews leases: one prepared statement for a whole batch, spoken to libpq directly.

Parameters are binary arrays, made by joining bytes: psycopg's adapters would cost more than the statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any

from psycopg import AsyncConnection, OperationalError
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from controlplane.database.prepared_connection import connect_prepared

# A row that somebody else holds must not hold back all the others for long.
_LIMITS = (
    "-c statement_timeout=3000 -c lock_timeout=1000 -c plan_cache_mode=force_generic_plan"
    # By key, in the order of the keys: so no two batches wait for each other.
    " -c enable_hashjoin=off -c enable_mergejoin=off -c enable_seqscan=off"
)
_NAME = b"renew"
_OUR_NAME = "controlplane-heartbeats"
_UUID, _BYTES, _WHOLE, _TIME = 2950, 17, 20, 1184
# Dimensions, flags, type of the elements; length, lower bound.
_ARRAY = Struct(">iiIii")
_LONG = Struct(">q")
_NULL = b"\xff\xff\xff\xff"
_SIZE = {size: size.to_bytes(4) for size in (8, 16, 32)}


@dataclass(slots=True)
class Beat:
    """A heartbeat as the statement takes it; `reported_at` in microseconds since 2000.

    instance: the 16 bytes of the instance_uuid, if there is one.
    """

    key: bytes
    digest: bytes
    reported_at: int
    lag: int
    report: bytes | None
    instance: bytes | None = None


@dataclass(slots=True)
class Lease:
    """What the statement returned for a beat that it renewed; expires_at: microseconds since 2000."""

    generation: int
    etag: bytes
    expires_at: int


@dataclass(slots=True)
class Taken:
    """now: microseconds since 2000, Postgres' clock. leases: by the place of the beat in the batch."""

    now: int
    live_count: int
    leases: dict[int, Lease]


class RenewingConnection:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection
        self._libpq: PGconn = connection.pgconn
        self._descriptor = self._libpq.socket
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[list[PGresult]] | None = None
        self._results: list[PGresult] = []

    @classmethod
    async def open(cls) -> RenewingConnection:
        """Connect as Django does. Raises psycopg.Error."""
        connection = await connect_prepared(_OUR_NAME, options=_LIMITS, name=_NAME, statement=_RENEW)
        opened = cls(connection)
        opened._loop.add_reader(opened._descriptor, opened._readable)
        return opened

    async def renew(self, beats: Sequence[Beat], *, lease: int, shortest: int, congestion_lag: int) -> Taken:
        """Renew; returns after the commit. `beats` are ordered by key.

        lease: in microseconds, where nothing is set for the agent or its environment. shortest: the least.
        """
        self._answer = self._loop.create_future()
        parameters = _parameters(beats, lease, shortest, congestion_lag)
        self._libpq.send_query_prepared(_NAME, parameters, [1] * len(parameters), 1)
        self._flush()
        results = await self._answer
        return _read(results)

    async def close(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._loop.remove_writer(self._descriptor)
        await self._connection.close()

    def _flush(self) -> None:
        """A large batch may not fit into the socket at once."""
        if self._libpq.flush():
            self._loop.add_writer(self._descriptor, self._flush)
        else:
            self._loop.remove_writer(self._descriptor)

    def _readable(self) -> None:
        """Rows may come before the commit. Only when nothing more is to come has it happened."""
        waiting = self._answer
        try:
            self._libpq.consume_input()
            while not self._libpq.is_busy():
                result = self._libpq.get_result()
                if result is None:
                    break
                self._results.append(result)
            else:
                return
            results, self._results = self._results, []
        except Exception as error:
            self._loop.remove_reader(self._descriptor)
            if waiting is not None and not waiting.done():
                waiting.set_exception(error)
        else:
            if waiting is not None and not waiting.done():
                waiting.set_result(results)


def _parameters(beats: Sequence[Beat], lease: int, shortest: int, congestion_lag: int) -> list[bytes]:
    return [
        _array(_UUID, 16, [one.key for one in beats]),
        _array(_BYTES, 32, [one.digest for one in beats]),
        _array(_WHOLE, 8, [_LONG.pack(one.lag) for one in beats]),
        _array(_TIME, 8, [_LONG.pack(one.reported_at) for one in beats]),
        _array_of_some(_BYTES, [one.report for one in beats]),
        _LONG.pack(lease),
        _LONG.pack(congestion_lag),
        _array_of_some(_UUID, [one.instance for one in beats]),
        _LONG.pack(shortest),
    ]


def _array(kind: int, size: int, values: list[bytes]) -> bytes:
    """An array in Postgres' binary format; all its values have this size."""
    length = _SIZE[size]
    return _ARRAY.pack(1, 0, kind, len(values), 1) + length + length.join(values)


def _array_of_some(kind: int, values: list[bytes | None]) -> bytes:
    """The same of values of 16 bytes that may be missing."""
    packed = b"".join(_NULL if one is None else _SIZE[16] + one for one in values)
    return _ARRAY.pack(1, 1, kind, len(values), 1) + packed


def _read(results: list[PGresult]) -> Taken:
    leases: dict[int, Lease] = {}
    now = live = 0
    for result in results:
        if result.status != ExecStatus.TUPLES_OK:
            raise OperationalError(result.get_error_message())
        get, whole = result.get_value, int.from_bytes
        for row in range(result.ntuples):
            place = whole(get(row, 0) or b"") - 1
            expires_at = whole(get(row, 5) or b"", signed=True)
            leases[place] = Lease(whole(get(row, 1) or b""), get(row, 2) or b"", expires_at)
        if leases:
            now, live = whole(get(0, 3) or b"", signed=True), whole(get(0, 4) or b"")
    return Taken(now, live, leases)


# Authentication and renewal in one: a row that differs in anything is left, and Django asks why.
_RENEW = b"""
UPDATE registry_lease AS lease
SET renewed_at = now(), expires_at = now() + interval '1 microsecond' * greatest($9::bigint, coalesce(
        1000000::bigint * coalesce(
            lease.lease_seconds,
            (SELECT lease_seconds FROM registry_environment WHERE id = lease.environment_id)
        ), $6::bigint)),
    reported_at = beat.reported_at, consumer_lag = beat.lag,
    vouched_at = CASE WHEN beat.report IS NULL THEN lease.vouched_at
        WHEN lease.vouched_at IS NOT NULL THEN now() END
FROM unnest($1::uuid[], $2::bytea[], $3::bigint[], $4::timestamptz[], $5::bytea[], $8::uuid[])
    WITH ORDINALITY AS beat (id, digest, lag, reported_at, report, instance, place)
WHERE lease.agent_id = beat.id AND lease.token_digest = beat.digest
    AND (lease.token_expires_at IS NULL OR lease.token_expires_at > now())
    AND lease.state = CASE WHEN beat.lag >= $7::bigint THEN 'congested' ELSE 'ready' END
    AND (beat.instance IS NULL OR beat.instance = lease.instance_uuid)
    AND (beat.report IS NULL OR beat.report = lease.report_digest)
RETURNING beat.place, lease.generation,
    (SELECT configuration_etag FROM registry_environment WHERE id = lease.environment_id), now(),
    (SELECT live_count FROM registry_sweeprecord WHERE id = 1), lease.expires_at
"""
