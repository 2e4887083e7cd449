"""Apply the provider part of an agent's report: renew leases and update health.

An unchanged report costs nothing here: the heartbeat records on the agent's own lease when the report was
repeated (`Lease.vouched_at`), and the leases of the providers that it names follow from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Lease
from registry.providers import leases, storage
from registry.providers.health import Health, after_probes
from registry.providers.models import Provider
from registry.providers.storage import Author, LockedAgent


def follow_report(
    locked_agent: LockedAgent, report: Mapping[str, Any], *, author: Author, policy: LivenessPolicy
) -> bool:
    """Apply the report to the agent's providers. Requires a transaction that holds the agent's lease.

    Returns True if an identical report must be applied again, because it would count towards a threshold.
    """
    providers = locked_agent.providers
    if not providers:
        return False
    entries = {(entry["name"], entry["service_type"]): entry for entry in report.get("providers", [])}
    for provider in providers:
        entry = entries.get((provider.name, provider.service_type))
        if entry is None:
            _follow_absence(provider, locked_agent.lease, policy)
        elif provider.holds_type:
            _follow_entry(provider, entry, locked_agent, author)
    vouched = any(provider.vouched for provider in providers)
    Lease.objects.filter(agent=locked_agent.agent).update(vouched_at=locked_agent.now if vouched else None)
    storage.publish_conditions(locked_agent)
    return any(provider.vouched and storage.record_of(provider).pending for provider in providers)


def _follow_entry(
    provider: Provider, entry: Mapping[str, Any], locked_agent: LockedAgent, author: Author
) -> None:
    health = Health(entry["status"])
    record = after_probes(
        storage.record_of(provider), health, probes=entry.get("probes", 1), policy=storage.health_policy()
    )
    provider.vouched, provider.checked_at = True, locked_agent.now
    reason = entry.get("message", f"Reported by the agent: {health}.")[:255]
    storage.judge(provider, record, reason, locked_agent, author)


def _follow_absence(provider: Provider, lease: Lease, policy: LivenessPolicy) -> None:
    if provider.vouched:
        leases.end_renewal(provider, lease, policy.lease)
        provider.save(update_fields=["expires_at", "vouched"])
