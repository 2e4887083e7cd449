"""Leases renewed in batches: one statement for all heartbeats that came while the last one was under way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from controlplane.web.batching import NaturalBatches
from registry.agents.liveness import LivenessPolicy
from registry.agents.policies import scaled_policy
from registry.api.heartbeats.fast_connection import BatchResult, BinaryHeartbeat, LeaseConnection
from registry.heartbeats.renew import Renewal

# More would hold the rows of a batch for longer than others like to wait.
_MOST = 512
_PATIENCE_SECONDS = 5.0
_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class GrantedRenewal:
    """policy: under which the lease was renewed."""

    renewal: Renewal
    policy: LivenessPolicy


class LeaseBatches:
    """Renews leases on so many connections of its own."""

    def __init__(self, connections: int) -> None:
        self._batches = NaturalBatches(
            self._renew, most=_MOST, patience=_PATIENCE_SECONDS, name="heartbeats", workers=connections
        )
        self._idle: list[LeaseConnection] = []
        self._live_count = 0
        self._policy = scaled_policy(0)

    async def renew(self, heartbeat: BinaryHeartbeat) -> GrantedRenewal | None:
        """Return the renewal after its commit; None if the heartbeat is not a usual one."""
        return await self._batches.ask(heartbeat)

    async def close(self) -> None:
        await self._batches.close()
        for connection in self._idle:
            await connection.close()
        self._idle.clear()

    async def _renew(self, heartbeats: Sequence[BinaryHeartbeat]) -> Sequence[GrantedRenewal | None]:
        connection = self._idle.pop() if self._idle else await LeaseConnection.open()
        renewals: list[GrantedRenewal | None] = [None] * len(heartbeats)
        try:
            for places in _statements(heartbeats):
                batch = [heartbeats[place] for place in places]
                policy = self._policy
                result = await connection.renew(batch, policy)
                for index, renewal in _renewals(batch, result, policy):
                    renewals[places[index]] = renewal
                self._follow_fleet(result)
        except BaseException:  # a batch that took too long is cancelled
            await connection.close()
            raise
        self._idle.append(connection)
        return renewals

    def _follow_fleet(self, result: BatchResult) -> None:
        if result.leases and result.live_count != self._live_count:
            self._live_count, self._policy = result.live_count, scaled_policy(result.live_count)


def _statements(heartbeats: Sequence[BinaryHeartbeat]) -> Iterator[list[int]]:
    """Places in the batch for each statement: ordered by agent, and no agent twice."""
    left = list(range(len(heartbeats)))
    while left:
        places: dict[bytes, int] = {}
        for place in left:
            places.setdefault(heartbeats[place].agent_id, place)
        yield [places[agent_id] for agent_id in sorted(places)]
        left = [place for place in left if places[heartbeats[place].agent_id] != place]


def _renewals(
    batch: Sequence[BinaryHeartbeat], result: BatchResult, policy: LivenessPolicy
) -> Iterator[tuple[int, GrantedRenewal]]:
    renewed_at = time_of(result.now)
    # Most leases of a batch end together.
    ends: dict[int, datetime] = {}
    for index, lease in result.leases.items():
        expires_at = ends.get(lease.expires_at)
        if expires_at is None:
            expires_at = ends[lease.expires_at] = time_of(lease.expires_at)
        heartbeat = batch[index]
        renewal = Renewal(
            UUID(bytes=heartbeat.agent_id),
            heartbeat.state.value,
            renewed_at,
            expires_at,
            lease.generation,
            lease.etag.decode(),
        )
        yield index, GrantedRenewal(renewal, policy)


def time_of(microseconds: int) -> datetime:
    """The time so many microseconds after 2000, from which Postgres counts."""
    return _ZERO + microseconds * _MICROSECOND
