"""Renew leases in batches: one statement for all heartbeats that arrived while the last one was running."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

import msgspec

from controlplane.web.batching import NaturalBatches
from registry.agents.liveness import LivenessPolicy, whole_seconds
from registry.agents.policies import scaled_policy
from registry.api.heartbeats.fast_connection import BatchResult, BinaryHeartbeat, LeaseConnection

# Larger batches would hold their row locks too long.
_MAX_BATCH = 512
_PATIENCE_SECONDS = 5.0
_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class BatchTimestamps:
    """Times, as JSON, and policy that heartbeats of a batch with the same lease share.

    lease: in seconds.
    """

    renewed_at: str
    expires_at: str
    lease: int
    policy: LivenessPolicy


@dataclass(slots=True)
class FastRenewal:
    timestamps: BatchTimestamps
    generation: int
    etag: bytes


class _Postponed(Enum):
    """In place of a renewal: the batch has another heartbeat of the agent, so this one is retried."""

    TO_NEXT_BATCH = True


_Answer = FastRenewal | _Postponed


class LeaseBatches:
    """Renews leases on its own connections."""

    def __init__(self, connections: int) -> None:
        self._batches: NaturalBatches[BinaryHeartbeat, _Answer] = NaturalBatches(
            self._renew, most=_MAX_BATCH, patience=_PATIENCE_SECONDS, name="heartbeats", workers=connections
        )
        self._idle: list[LeaseConnection] = []
        self._live_count = 0
        self._policy = scaled_policy(0)

    def renew(self, heartbeat: BinaryHeartbeat, done: Callable[[FastRenewal | None], None]) -> None:
        """Call `done` with the renewal after its commit; with None if the statement renewed no lease."""

        def receive(answer: _Answer | None) -> None:
            if isinstance(answer, _Postponed):
                self._batches.put(heartbeat, receive)
            else:
                done(answer)

        self._batches.put(heartbeat, receive)

    async def close(self) -> None:
        await self._batches.close()
        for connection in self._idle:
            await connection.close()
        self._idle.clear()

    async def _renew(self, heartbeats: Sequence[BinaryHeartbeat]) -> Sequence[_Answer | None]:
        connection = self._idle.pop() if self._idle else await LeaseConnection.open()
        positions, policy = _positions_by_agent(heartbeats), self._policy
        try:
            result = await connection.renew([heartbeats[position] for position in positions], policy)
        except BaseException:  # batches that time out are cancelled
            await connection.close()
            raise
        self._idle.append(connection)
        self._follow_fleet(result)
        answers: list[_Answer | None] = [_Postponed.TO_NEXT_BATCH] * len(heartbeats)
        for position in positions:
            answers[position] = None
        for index, renewal in _renewals(result, policy):
            answers[positions[index]] = renewal
        return answers

    def _follow_fleet(self, result: BatchResult) -> None:
        if result.leases and result.live_count != self._live_count:
            self._live_count, self._policy = result.live_count, scaled_policy(result.live_count)


def _positions_by_agent(heartbeats: Sequence[BinaryHeartbeat]) -> list[int]:
    """The places of the first heartbeat of each agent, ordered by agent."""
    positions: dict[bytes, int] = {}
    for position, heartbeat in enumerate(heartbeats):
        positions.setdefault(heartbeat.agent_id, position)
    return [positions[agent_id] for agent_id in sorted(positions)]


def _renewals(result: BatchResult, policy: LivenessPolicy) -> Iterator[tuple[int, FastRenewal]]:
    """Yield each renewal with its position in the statement."""
    renewed_at = time_of(result.now)
    # Most leases of a batch expire at the same time.
    by_end: dict[int, BatchTimestamps] = {}
    for lease in result.leases:
        timestamps = by_end.get(lease.expires_at)
        if timestamps is None:
            timestamps = timestamps_of(renewed_at, time_of(lease.expires_at), policy)
            by_end[lease.expires_at] = timestamps
        yield lease.position, FastRenewal(timestamps, lease.generation, lease.etag)


def timestamps_of(renewed_at: datetime, expires_at: datetime, policy: LivenessPolicy) -> BatchTimestamps:
    lease = whole_seconds(expires_at - renewed_at)
    return BatchTimestamps(_as_json(renewed_at), _as_json(expires_at), lease, policy)


def time_of(microseconds: int) -> datetime:
    """Return the time of microseconds since 2000, the epoch of Postgres."""
    return _ZERO + microseconds * _MICROSECOND


def _as_json(time: datetime) -> str:
    return msgspec.json.encode(time).decode()
