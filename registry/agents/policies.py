"""The policies that the settings describe, and the size of the fleet that they are scaled to."""

from __future__ import annotations

import time
from datetime import timedelta

from django.conf import settings

from registry.agents.flap_damping import DampingPolicy
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import SweepRecord

# So many sweeps may be missed (a busy worker, a restart) before it counts as an outage.
_MISSED_SWEEPS = 6
# The sweep counts the fleet as often; nobody needs to know better.
_KEEP_SECONDS = 5.0
_counted: tuple[float, int] | None = None


def liveness_policy() -> LivenessPolicy:
    return scaled_policy(_live_count())


def scaled_policy(live: int) -> LivenessPolicy:
    """The policy for a fleet of this size."""
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
    """Ask for its size again at the next need."""
    global _counted  # noqa: PLW0603  (one per process)
    _counted = None


def _live_count() -> int:
    global _counted  # noqa: PLW0603  (one per process)
    kept = _counted
    if kept is None or time.monotonic() - kept[0] > _KEEP_SECONDS:
        live = SweepRecord.objects.values_list("live_count", flat=True).first() or 0
        kept = _counted = (time.monotonic(), live)
    return kept[1]
