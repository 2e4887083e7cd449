"""Liveness of an agent, from the time of its last heartbeat. Pure.

The time is an argument; callers pass that of Postgres.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import datetime, timedelta

# After this many intervals without a heartbeat an agent is shown as late; nothing is stored.
LATE_AFTER_INTERVALS = 1.5
# A lease covers this many intervals: one lost heartbeat must not make an agent flap.
LEASE_INTERVALS = 3


@dataclass(frozen=True, slots=True)
class LivenessPolicy:
    """interval: between heartbeats. lease: its duration after each. jitter: share of the interval."""

    interval: timedelta
    lease: timedelta
    jitter: float

    def is_late(
        self, last_heartbeat_at: datetime, *, now: datetime, lease_seconds: int | None = None
    ) -> bool:
        """Return whether one and a half intervals have passed. lease_seconds: the configured lease."""
        return now - last_heartbeat_at > LATE_AFTER_INTERVALS * self.expected_interval(lease_seconds)

    def granted(self, lease_seconds: int | None) -> timedelta:
        """Return the lease of an agent. lease_seconds: the configured lease; None: the policy's."""
        if lease_seconds is None:
            return self.lease
        return max(timedelta(seconds=lease_seconds), self.shortest_lease())

    def shortest_lease(self) -> timedelta:
        """Return the minimum of a configured lease, so that one lost heartbeat never ends it."""
        return LEASE_INTERVALS * self.interval

    def expected_interval(self, lease_seconds: int | None) -> timedelta:
        """Return the interval of an agent; one with a longer lease may choose a longer interval itself."""
        if lease_seconds is None:
            return self.interval
        return max(self.interval, self.granted(lease_seconds) / LEASE_INTERVALS)

    def grace(self) -> timedelta:
        """Return how long agents have to return after an outage of the control plane."""
        return max(self.lease, 2 * self.interval)

    def soon(self) -> timedelta:
        """Return the rest of a lease below which its agent has missed a heartbeat."""
        return max(timedelta(), self.lease - LATE_AFTER_INTERVALS * self.interval)

    def for_fleet(self, live: int, *, rate: int) -> LivenessPolicy:
        """Return the policy with which `live` agents send at most `rate` heartbeats a second."""
        # Jitter shortens the interval by half of itself on average.
        needed = math.ceil(live / (rate * (1 - self.jitter / 2)))
        interval = max(self.interval, timedelta(seconds=needed))
        return LivenessPolicy(interval, max(self.lease, LEASE_INTERVALS * interval), self.jitter)

    def next_interval(self, chance: random.Random) -> float:
        """Return the seconds until the next heartbeat. Jitter only shortens them, so no agent is late."""
        return round(self.interval.total_seconds() * (1 - self.jitter * chance.random()), 1)


def whole_seconds(duration: timedelta) -> int:
    return int(duration.total_seconds())


def has_expired(
    expires_at: datetime, *, reachable_since: datetime, policy: LivenessPolicy, now: datetime
) -> bool:
    """Return whether the lease expired while the control plane could have received heartbeats."""
    return now > expires_at and now > reachable_since + policy.grace()


def reachable_since(
    last_sweep_at: datetime | None, since: datetime | None, *, gap: timedelta, now: datetime
) -> datetime:
    """Return since when the control plane has been reachable: a gap between its sweeps is an outage."""
    if last_sweep_at is None or since is None or now - last_sweep_at > gap:
        return now
    return since
