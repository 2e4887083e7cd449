"""The liveness policy that the settings describe."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

from registry.agents.liveness import LivenessPolicy

# So many sweeps may be missed (a busy worker, a restart) before it counts as an outage.
_MISSED_SWEEPS = 6


def liveness_policy() -> LivenessPolicy:
    return LivenessPolicy(
        interval=timedelta(seconds=settings.HEARTBEAT_INTERVAL_SECONDS),
        lease=timedelta(seconds=settings.LEASE_SECONDS),
        jitter=settings.HEARTBEAT_JITTER,
    )


def outage_gap() -> timedelta:
    return timedelta(seconds=settings.SWEEP_INTERVAL_SECONDS * _MISSED_SWEEPS)
