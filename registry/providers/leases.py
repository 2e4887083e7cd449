"""Leases of providers, judged as those of agents are: by Postgres' clock, with grace after our own outage."""

from __future__ import annotations

from datetime import datetime, timedelta

from registry.agents.liveness import LivenessPolicy, has_expired, reachable_since
from registry.agents.models import Lease, SweepRecord
from registry.agents.policies import outage_gap
from registry.providers.health import lease_end
from registry.providers.models import Provider


def end_of(provider: Provider, lease: Lease, lasting: timedelta) -> datetime:
    """Until when the provider has its service type."""
    return lease_end(provider.expires_at, lease.vouched_at if provider.vouched else None, lease=lasting)


def is_over(provider: Provider, lease: Lease, policy: LivenessPolicy, now: datetime) -> bool:
    """True if the lease ran out, and we have been there long enough to have heard of the provider."""
    record = SweepRecord.objects.filter(id=1).first()
    if record is None:
        return False
    since = reachable_since(record.last_sweep_at, record.reachable_since, gap=outage_gap(), now=now)
    return has_expired(end_of(provider, lease, policy.lease), reachable_since=since, policy=policy, now=now)


def settle(provider: Provider, lease: Lease, lasting: timedelta) -> None:
    """The agent names it no more: its lease ends as it was renewed last."""
    provider.expires_at, provider.vouched = end_of(provider, lease, lasting), False
