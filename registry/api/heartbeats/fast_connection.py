"""The connection that renews leases: one prepared statement for a whole batch, sent through libpq directly.

Parameters are binary arrays, built by joining bytes: psycopg's adapters would cost more than the statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct

from psycopg.pq.abc import PGresult

from controlplane.database.prepared_connection import PreparedConnection
from registry.agents.liveness import LivenessPolicy
from registry.agents.states import State
from registry.heartbeats.renew import RENEW_PREPARED, lease_terms

# A locked row must not delay the rest of the batch for long.
_LIMITS = (
    "-c statement_timeout=3000 -c lock_timeout=1000 -c plan_cache_mode=force_generic_plan"
    # Index scans lock rows in key order, so batches cannot deadlock.
    " -c enable_hashjoin=off -c enable_mergejoin=off -c enable_seqscan=off"
)
_APPLICATION = "controlplane-heartbeats"
_UUID, _BYTEA, _BIGINT, _TEXT, _TIMESTAMPTZ = 2950, 17, 20, 25, 1184
# Dimensions, flags, element type, length, lower bound.
_ARRAY = Struct(">iiIii")
_LONG = Struct(">q")
_NULL = b"\xff\xff\xff\xff"
_SIZE = {size: size.to_bytes(4) for size in (8, 16, 32)}
_STATES = {state: len(state.value).to_bytes(4) + state.value.encode() for state in State}


@dataclass(slots=True)
class BinaryHeartbeat:
    """A heartbeat as a parameter of the statement.

    agent_id, instance: the 16 bytes of the UUID. state: of the agent after the heartbeat. reported_at:
    microseconds since 2000. report: the digest of the report.
    """

    agent_id: bytes
    token_digest: bytes
    state: State
    reported_at: int
    consumer_lag: int
    report: bytes | None = None
    instance: bytes | None = None


@dataclass(slots=True)
class RenewedLease:
    """A result row. position: of the heartbeat in the batch. expires_at: microseconds since 2000."""

    position: int
    generation: int
    etag: bytes
    expires_at: int


@dataclass(slots=True)
class BatchResult:
    """The result of a batch. now: the clock of Postgres, in microseconds since 2000."""

    now: int
    live_count: int
    leases: list[RenewedLease]


class LeaseConnection:
    def __init__(self, connection: PreparedConnection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls) -> LeaseConnection:
        """Connect as Django does. Raises psycopg.Error."""
        return cls(await PreparedConnection.open(RENEW_PREPARED, application=_APPLICATION, options=_LIMITS))

    async def renew(self, heartbeats: Sequence[BinaryHeartbeat], policy: LivenessPolicy) -> BatchResult:
        """Renew leases; return after the commit. `heartbeats` are ordered by agent, with one for each.

        Raises psycopg.Error.
        """
        (result,) = await self._connection.execute(_parameters(heartbeats, policy))
        return _read(result)

    async def close(self) -> None:
        await self._connection.close()


def _parameters(heartbeats: Sequence[BinaryHeartbeat], policy: LivenessPolicy) -> list[bytes]:
    lease, shortest = lease_terms(policy)
    return [
        _array(_UUID, 16, [heartbeat.agent_id for heartbeat in heartbeats]),
        _array(_BYTEA, 32, [heartbeat.token_digest for heartbeat in heartbeats]),
        _array(_BIGINT, 8, [_LONG.pack(heartbeat.consumer_lag) for heartbeat in heartbeats]),
        _array(_TIMESTAMPTZ, 8, [_LONG.pack(heartbeat.reported_at) for heartbeat in heartbeats]),
        _packed_array(_TEXT, [_STATES[heartbeat.state] for heartbeat in heartbeats]),
        _array_with_nulls(_BYTEA, [heartbeat.report for heartbeat in heartbeats]),
        _array_with_nulls(_UUID, [heartbeat.instance for heartbeat in heartbeats]),
        _LONG.pack(lease),
        _LONG.pack(shortest),
    ]


def _array(element: int, size: int, values: list[bytes]) -> bytes:
    """Encode values of one size as an array in the binary format of Postgres."""
    length = _SIZE[size]
    return _ARRAY.pack(1, 0, element, len(values), 1) + length + length.join(values)


def _array_with_nulls(element: int, values: list[bytes | None]) -> bytes:
    """Encode values of 16 bytes or null as an array."""
    packed = [_NULL if value is None else _SIZE[16] + value for value in values]
    return _packed_array(element, packed)


def _packed_array(element: int, values: list[bytes]) -> bytes:
    """Encode values that begin with their length as an array."""
    return _ARRAY.pack(1, 1, element, len(values), 1) + b"".join(values)


def _read(result: PGresult) -> BatchResult:
    get, integer = result.get_value, int.from_bytes
    leases = [
        RenewedLease(
            integer(get(row, 0) or b"") - 1,
            integer(get(row, 1) or b""),
            get(row, 2) or b"",
            integer(get(row, 5) or b"", signed=True),
        )
        for row in range(result.ntuples)
    ]
    if not leases:
        return BatchResult(0, 0, leases)
    return BatchResult(integer(get(0, 3) or b"", signed=True), integer(get(0, 4) or b""), leases)
