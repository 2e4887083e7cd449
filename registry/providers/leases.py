"""Leases of providers: by the clock of Postgres and with grace after an outage, like those of agents."""

from __future__ import annotations

from datetime import datetime, timedelta

from registry.agents.liveness import LivenessPolicy, has_expired, reachable_since
from registry.agents.models import Lease, SweepRecord
from registry.agents.policies import outage_gap
from registry.providers.health import lease_end
from registry.providers.models import Provider


def end_of(provider: Provider, lease: Lease, duration: timedelta) -> datetime:
    """Return the time until which the provider holds its service type."""
    return lease_end(provider.expires_at, lease.vouched_at if provider.vouched else None, lease=duration)


def is_over(provider: Provider, lease: Lease, policy: LivenessPolicy, now: datetime) -> bool:
    """Whether the lease has expired, and the control plane was up long enough to have received a report."""
    record = SweepRecord.objects.filter(id=1).first()
    if record is None:
        return False
    since = reachable_since(record.last_sweep_at, record.reachable_since, gap=outage_gap(), now=now)
    return has_expired(end_of(provider, lease, policy.lease), reachable_since=since, policy=policy, now=now)


def end_renewal(provider: Provider, lease: Lease, duration: timedelta) -> None:
    """Stop renewal by reports: the lease keeps its present end."""
    provider.expires_at, provider.vouched = end_of(provider, lease, duration), False
