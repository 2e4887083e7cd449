"""What an agent reports of its providers beside a heartbeat: it renews their leases and moves their states.

A report that says the same as before costs nothing here: the heartbeat notes on the agent's own lease when it
was repeated (`Lease.vouched_at`), and the leases of the providers that it names follow from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Lease
from registry.providers import leases, storage
from registry.providers.health import Health, after_probes
from registry.providers.models import Provider
from registry.providers.storage import By, Locked


def follow_report(held: Locked, said: Mapping[str, Any], *, by: By, policy: LivenessPolicy) -> bool:
    """Take what the report says of providers. Needs a transaction that holds the agent's lease.

    Returns True if the same report must be looked at again, since it would count towards a threshold.
    """
    if not held.providers:
        return False
    named = {(one["name"], one["service_type"]): one for one in said.get("providers", [])}
    for provider in held.providers:
        one = named.get((provider.name, provider.service_type))
        if one is None:
            _unnamed(provider, held.lease, policy)
        elif provider.holds_type:
            _named(provider, one, held, by)
    vouched = any(one.vouched for one in held.providers)
    Lease.objects.filter(agent=held.agent).update(vouched_at=held.now if vouched else None)
    storage.publish_conditions(held)
    return any(one.vouched and storage.record_of(one).pending for one in held.providers)


def _named(provider: Provider, one: Mapping[str, Any], held: Locked, by: By) -> None:
    said = Health(one["status"])
    record = after_probes(
        storage.record_of(provider), said, probes=one.get("probes", 1), policy=storage.health_policy()
    )
    provider.vouched, provider.checked_at = True, held.now
    storage.judge(provider, record, one.get("message", f"The agent says: {said}.")[:255], held, by)


def _unnamed(provider: Provider, lease: Lease, policy: LivenessPolicy) -> None:
    if provider.vouched:
        leases.settle(provider, lease, policy.lease)
        provider.save(update_fields=["expires_at", "vouched"])
