"""Natural batching: a statement begins as soon as a connection is free, with all that have come meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
import structlog
from django.conf import settings

from registry.agents.liveness import LivenessPolicy, whole_seconds
from registry.agents.policies import scaled_policy
from registry.api.heartbeats.fast_connection import Beat, RenewingConnection

# More would hold the rows of a batch for longer than others like to wait.
_MOST = 512
# After a failure Django answers for a moment, so that heartbeats do not queue for a database that is away.
_PAUSE_SECONDS = 0.25
_PATIENCE_SECONDS = 5.0
_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Moment:
    """What heartbeats of a batch with the same lease are told alike: times as JSON, and the policy.

    lease: in seconds.
    """

    renewed_at: str
    expires_at: str
    lease: int
    policy: LivenessPolicy


@dataclass(slots=True)
class Told:
    moment: Moment
    generation: int
    etag: bytes


@dataclass(slots=True)
class _Waiting:
    beat: Beat
    told: asyncio.Future[Told | None]


class Batches:
    """Renews leases on so many connections of its own."""

    def __init__(self, connections: int) -> None:
        self._waiting: dict[bytes, _Waiting] = {}
        # A second heartbeat of an agent that is in the batch already.
        self._later: list[_Waiting] = []
        self._free: list[RenewingConnection | None] = [None] * connections
        self._tasks: set[asyncio.Task[None]] = set()
        self._planned = False
        self._policy: tuple[int, LivenessPolicy] = (0, scaled_policy(0))
        self._paused_until = 0.0

    async def renew(self, beat: Beat) -> Told | None:
        """Return what the agent is told, after the commit; None if its heartbeat is not a usual one."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._paused_until:
            return None
        one = _Waiting(beat, loop.create_future())
        self._put(one)
        if self._free and not self._planned:
            # Not now: what else this turn of the loop brings shall come along.
            self._planned = True
            loop.call_soon(self._begin)
        return await one.told

    async def close(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._free:
            if connection is not None:
                await connection.close()
        self._free = []

    def _put(self, one: _Waiting) -> None:
        if self._waiting.setdefault(one.beat.key, one) is not one:
            self._later.append(one)

    def _begin(self) -> None:
        self._planned = False
        if self._waiting and self._free:
            task = asyncio.get_running_loop().create_task(self._serve(self._free.pop()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: RenewingConnection | None) -> None:
        """One batch after the other until nobody waits."""
        try:
            while self._waiting:
                batch = self._take()
                try:
                    async with asyncio.timeout(_PATIENCE_SECONDS):
                        connection = connection or await RenewingConnection.open()
                        await self._renew(connection, batch)
                except Exception as error:  # whatever it is, Django answers meanwhile
                    await self._lose(connection, error)
                    connection = None
                finally:
                    for one in batch:
                        if not one.told.done():
                            one.told.set_result(None)
        finally:
            self._free.append(connection)

    def _take(self) -> list[_Waiting]:
        keys = sorted(self._waiting)[:_MOST]
        batch = [self._waiting.pop(key) for key in keys]
        later, self._later = self._later, []
        for one in later:
            self._put(one)
        return batch

    async def _renew(self, connection: RenewingConnection, batch: list[_Waiting]) -> None:
        policy = self._policy[1]
        taken = await connection.renew(
            [one.beat for one in batch],
            lease=policy.lease // _MICROSECOND,
            shortest=policy.shortest_lease() // _MICROSECOND,
            congestion_lag=settings.CONGESTION_LAG,
        )
        if not taken.leases:
            return
        if taken.live_count != self._policy[0]:
            self._policy = (taken.live_count, scaled_policy(taken.live_count))
        moments: dict[int, Moment] = {}
        for place, lease in taken.leases.items():
            moment = moments.get(lease.expires_at)
            if moment is None:
                moment = moments[lease.expires_at] = _moment(taken.now, lease.expires_at, policy)
            told = batch[place].told
            if not told.done():  # its client may have gone
                told.set_result(Told(moment, lease.generation, lease.etag))

    async def _lose(self, connection: RenewingConnection | None, error: Exception) -> None:
        log.warning("fast_heartbeats.failed", error=str(error).strip() or type(error).__name__)
        self._paused_until = asyncio.get_running_loop().time() + _PAUSE_SECONDS
        if connection is not None:
            await connection.close()


def _moment(renewed_at: int, expires_at: int, policy: LivenessPolicy) -> Moment:
    renewed, expires = _ZERO + renewed_at * _MICROSECOND, _ZERO + expires_at * _MICROSECOND
    return moment_of(renewed, expires, policy)


def moment_of(renewed_at: datetime, expires_at: datetime, policy: LivenessPolicy) -> Moment:
    lease = whole_seconds(expires_at - renewed_at)
    return Moment(as_json(renewed_at), as_json(expires_at), lease, policy)


def as_json(at: datetime) -> str:
    return msgspec.json.encode(at).decode()
