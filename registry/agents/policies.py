"""Policies of agents from the settings, scaled to the size of the fleet."""

from __future__ import annotations

import time
from datetime import timedelta

from django.conf import settings

from registry.agents.flap_damping import DampingPolicy
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import SweepRecord

# More missed sweeps than this (a busy worker, a restart) count as an outage.
_MISSED_SWEEPS = 6
# The sweep counts the fleet no more often.
_CACHE_SECONDS = 5.0
_cached_count: tuple[float, int] | None = None


def liveness_policy() -> LivenessPolicy:
    return scaled_policy(_live_count())


def scaled_policy(live: int) -> LivenessPolicy:
    """Return the policy for a fleet of this size."""
    base = LivenessPolicy(
        interval=timedelta(seconds=settings.HEARTBEAT_INTERVAL_SECONDS),
        lease=timedelta(seconds=settings.LEASE_SECONDS),
        jitter=settings.HEARTBEAT_JITTER,
    )
    return base.for_fleet(live, rate=settings.HEARTBEATS_PER_SECOND)


def damping_policy(policy: LivenessPolicy) -> DampingPolicy:
    window = timedelta(seconds=settings.FLAP_WINDOW_SECONDS)
    return DampingPolicy(half_life=window, hold=policy.lease, longest=window)


def outage_gap() -> timedelta:
    return timedelta(seconds=settings.SWEEP_INTERVAL_SECONDS * _MISSED_SWEEPS)


def forget_fleet() -> None:
    """Drop the cached size of the fleet."""
    global _cached_count  # noqa: PLW0603  (one per process)
    _cached_count = None


def _live_count() -> int:
    global _cached_count  # noqa: PLW0603  (one per process)
    cached = _cached_count
    if cached is None or time.monotonic() - cached[0] > _CACHE_SECONDS:
        live = SweepRecord.objects.values_list("live_count", flat=True).first() or 0
        cached = _cached_count = (time.monotonic(), live)
    return cached[1]
