"""Leases renewed in batches: one statement for all heartbeats that came while the last one was under way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

import msgspec

from controlplane.web.batching import NaturalBatches
from registry.agents.liveness import LivenessPolicy, whole_seconds
from registry.agents.policies import scaled_policy
from registry.api.heartbeats.fast_connection import BatchResult, BinaryHeartbeat, LeaseConnection

# More would hold the rows of a batch for longer than others like to wait.
_MOST = 512
_PATIENCE_SECONDS = 5.0
_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class BatchTimestamps:
    """What heartbeats of a batch with the same lease have in common: times as JSON, and the policy.

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
    """In place of an answer: the batch has another heartbeat of the agent, so this one asks again."""

    TO_NEXT_BATCH = True


_Answer = FastRenewal | _Postponed


class LeaseBatches:
    """Renews leases on so many connections of its own."""

    def __init__(self, connections: int) -> None:
        self._batches: NaturalBatches[BinaryHeartbeat, _Answer] = NaturalBatches(
            self._renew, most=_MOST, patience=_PATIENCE_SECONDS, name="heartbeats", workers=connections
        )
        self._idle: list[LeaseConnection] = []
        self._live_count = 0
        self._policy = scaled_policy(0)

    async def renew(self, heartbeat: BinaryHeartbeat) -> FastRenewal | None:
        """Return the renewal after its commit; None if the heartbeat is not a usual one."""
        while True:
            answer = await self._batches.ask(heartbeat)
            if not isinstance(answer, _Postponed):
                return answer

    async def close(self) -> None:
        await self._batches.close()
        for connection in self._idle:
            await connection.close()
        self._idle.clear()

    async def _renew(self, heartbeats: Sequence[BinaryHeartbeat]) -> Sequence[_Answer | None]:
        connection = self._idle.pop() if self._idle else await LeaseConnection.open()
        places, policy = _places_by_agent(heartbeats), self._policy
        try:
            result = await connection.renew([heartbeats[place] for place in places], policy)
        except BaseException:  # a batch that took too long is cancelled
            await connection.close()
            raise
        self._idle.append(connection)
        self._follow_fleet(result)
        answers: list[_Answer | None] = [_Postponed.TO_NEXT_BATCH] * len(heartbeats)
        for place in places:
            answers[place] = None
        for index, renewal in _renewals(result, policy):
            answers[places[index]] = renewal
        return answers

    def _follow_fleet(self, result: BatchResult) -> None:
        if result.leases and result.live_count != self._live_count:
            self._live_count, self._policy = result.live_count, scaled_policy(result.live_count)


def _places_by_agent(heartbeats: Sequence[BinaryHeartbeat]) -> list[int]:
    """The places of the first heartbeat of each agent, ordered by agent."""
    places: dict[bytes, int] = {}
    for place, heartbeat in enumerate(heartbeats):
        places.setdefault(heartbeat.agent_id, place)
    return [places[agent_id] for agent_id in sorted(places)]


def _renewals(result: BatchResult, policy: LivenessPolicy) -> Iterator[tuple[int, FastRenewal]]:
    """By the place in the statement."""
    renewed_at = time_of(result.now)
    # Most leases of a batch end together.
    by_end: dict[int, BatchTimestamps] = {}
    for lease in result.leases:
        timestamps = by_end.get(lease.expires_at)
        if timestamps is None:
            timestamps = timestamps_of(renewed_at, time_of(lease.expires_at), policy)
            by_end[lease.expires_at] = timestamps
        yield lease.place, FastRenewal(timestamps, lease.generation, lease.etag)


def timestamps_of(renewed_at: datetime, expires_at: datetime, policy: LivenessPolicy) -> BatchTimestamps:
    lease = whole_seconds(expires_at - renewed_at)
    return BatchTimestamps(_as_json(renewed_at), _as_json(expires_at), lease, policy)


def time_of(microseconds: int) -> datetime:
    """The time so many microseconds after 2000, from which Postgres counts."""
    return _ZERO + microseconds * _MICROSECOND


def _as_json(time: datetime) -> str:
    return msgspec.json.encode(time).decode()
