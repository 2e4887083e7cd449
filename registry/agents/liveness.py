"""Liveness: what an agent's last heartbeat says about it. Pure.

Pure: the clock is an argument, and the callers pass Postgres'.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import datetime, timedelta

# Past so many intervals without a heartbeat an agent is shown as late; nothing is stored.
LATE_AFTER_INTERVALS = 1.5
# A lease covers so many intervals: one lost heartbeat must not make an agent flap.
LEASE_INTERVALS = 3


@dataclass(frozen=True, slots=True)
class LivenessPolicy:
    """interval: between heartbeats; lease: how long one is good for. jitter: share of the interval."""

    interval: timedelta
    lease: timedelta
    jitter: float

    def is_late(
        self, last_heartbeat_at: datetime, *, now: datetime, lease_seconds: int | None = None
    ) -> bool:
        """True past one and a half intervals of an agent whose lease is set to so many seconds, or is not."""
        return now - last_heartbeat_at > LATE_AFTER_INTERVALS * self.expected_interval(lease_seconds)

    def granted(self, lease_seconds: int | None) -> timedelta:
        """The lease of an agent for which so many seconds are set; None: nothing is set."""
        if lease_seconds is None:
            return self.lease
        return max(timedelta(seconds=lease_seconds), self.shortest_lease())

    def shortest_lease(self) -> timedelta:
        """Whatever is set: one lost heartbeat must not end a lease, however long the fleet's interval is."""
        return LEASE_INTERVALS * self.interval

    def expected_interval(self, lease_seconds: int | None) -> timedelta:
        """How often an agent beats: one with a longer lease may have an interval that we do not set."""
        if lease_seconds is None:
            return self.interval
        return max(self.interval, self.granted(lease_seconds) / LEASE_INTERVALS)

    def grace(self) -> timedelta:
        """How long everybody has to report back after we could not be reached."""
        return max(self.lease, 2 * self.interval)

    def soon(self) -> timedelta:
        """An agent whose lease ends within this has missed a heartbeat: it comes due."""
        return max(timedelta(), self.lease - LATE_AFTER_INTERVALS * self.interval)

    def for_fleet(self, live: int, *, rate: int) -> LivenessPolicy:
        """The policy at which so many agents send no more heartbeats a second than `rate`."""
        # Jitter shortens the interval by half of itself on average.
        needed = math.ceil(live / (rate * (1 - self.jitter / 2)))
        interval = max(self.interval, timedelta(seconds=needed))
        return LivenessPolicy(interval, max(self.lease, LEASE_INTERVALS * interval), self.jitter)

    def next_interval(self, chance: random.Random) -> float:
        """Seconds until the next heartbeat: jitter only shortens it, so that it makes nobody late."""
        return round(self.interval.total_seconds() * (1 - self.jitter * chance.random()), 1)


def whole_seconds(lasting: timedelta) -> int:
    return int(lasting.total_seconds())


def has_expired(
    expires_at: datetime, *, reachable_since: datetime, policy: LivenessPolicy, now: datetime
) -> bool:
    """True if the lease ran out, and we have been there long enough to have heard of it."""
    return now > expires_at and now > reachable_since + policy.grace()


def reachable_since(
    last_sweep_at: datetime | None, since: datetime | None, *, gap: timedelta, now: datetime
) -> datetime:
    """Since when the control plane has been up, told by its own sweeps: a gap in them is an outage."""
    if last_sweep_at is None or since is None or now - last_sweep_at > gap:
        return now
    return since
