"""Register and remove service providers. Registering again renews the lease."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.errors import PermissionDenied, UnknownProvider
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from registry.agents.liveness import LivenessPolicy
from registry.agents.lookup import unknown_agent
from registry.agents.models import Lease
from registry.agents.rights import AgentRights
from registry.providers import leases, storage
from registry.providers.event_types import PROVIDER_CHANGED, PROVIDER_REGISTERED, PROVIDER_REMOVED
from registry.providers.health import HealthRecord, after_probes, unknown
from registry.providers.models import Provider
from registry.providers.registration import ProviderRegistration, check
from registry.providers.slots import RegisteredProvider, place
from registry.providers.storage import Author, LockedAgent

_AUDITED = (
    "provider_id",
    "name",
    "service_type",
    "endpoint",
    "schema_version",
    "kind",
    "display_name",
    "operations",
    "metadata",
)


@dataclass(frozen=True, slots=True)
class ProviderAccess:
    """Access of a caller to the providers of agents."""

    actor: Actor
    rights: AgentRights

    @property
    def author(self) -> Author:
        return Author(self.actor.name, self.actor.request_id)

    def check(self, locked_agent: LockedAgent) -> None:
        if not self.rights.show(locked_agent.agent):
            raise unknown_agent(locked_agent.agent.id)
        if not self.rights.allow(locked_agent.agent):
            raise PermissionDenied(
                "This agent was registered with another token. Use that token, or one that can write agents."
            )


@transaction.atomic
def register_provider(
    agent_id: UUID,
    registration: ProviderRegistration,
    *,
    provider_id: str | None,
    access: ProviderAccess,
    policy: LivenessPolicy,
) -> tuple[Provider, bool]:
    """Create or update the provider and start its lease. Returns it, and whether it is new.

    Raises InvalidProvider, NameTaken, ServiceTypeTaken, UnknownAgent, PermissionDenied.
    """
    check(registration, provider_id)
    locked_agent = storage.lock_agent(agent_id)
    access.check(locked_agent)
    registered = [_registered(row, locked_agent, policy) for row in locked_agent.providers]
    placement = place(registration.name, provider_id, registration.service_type, registered)
    by_id = {provider.provider_id: provider for provider in locked_agent.providers}
    if placement.released:
        reason = f"The lease expired, and {registration.name!r} took over the service type."
        storage.expire(by_id[placement.released.provider_id], reason[:255], locked_agent, access.author)
    if placement.same:
        provider = by_id[placement.same.provider_id]
        _refresh(provider, registration, locked_agent, access, policy)
    else:
        provider = _insert(registration, provider_id or str(uuid.uuid4()), locked_agent, access, policy)
    # The next report must be applied even if it is unchanged: it may name this provider.
    Lease.objects.filter(agent=locked_agent.agent).update(report_digest=None)
    storage.publish_conditions(locked_agent)
    return _reloaded(provider), placement.same is None


@transaction.atomic
def remove_provider(agent_id: UUID, provider_id: str, *, access: ProviderAccess) -> None:
    """Delete the provider; its service type is then advertised without one. Raises UnknownProvider."""
    locked_agent = storage.lock_agent(agent_id)
    access.check(locked_agent)
    provider = next((row for row in locked_agent.providers if row.provider_id == provider_id), None)
    if provider is None:
        raise UnknownProvider(f"The agent {locked_agent.agent.name!r} has no provider {provider_id[:63]!r}.")
    _record(PROVIDER_REMOVED, provider, locked_agent, access.actor, before=_audited(provider), after=None)
    storage.record_last(provider, "Removed.", locked_agent, access.author)
    locked_agent.providers.remove(provider)
    provider.delete()
    storage.publish_conditions(locked_agent)


def _insert(
    registration: ProviderRegistration,
    provider_id: str,
    locked_agent: LockedAgent,
    access: ProviderAccess,
    policy: LivenessPolicy,
) -> Provider:
    record, reason = _first_record(registration)
    provider = Provider(
        **registration.facts(),
        agent=locked_agent.agent,
        provider_id=provider_id,
        state=record.state.value,
        state_reason=reason,
        state_since=locked_agent.now,
        failures=record.failures,
        recoveries=record.recoveries,
        checked_at=locked_agent.now if registration.status else None,
        expires_at=locked_agent.now + policy.lease,
        updated_at=Now(),
    )
    provider.save(force_insert=True)
    locked_agent.providers.append(provider)
    storage.record_first(provider, locked_agent, access.author)
    _record(PROVIDER_REGISTERED, provider, locked_agent, access.actor, before=None, after=_audited(provider))
    return provider


def _refresh(
    provider: Provider,
    registration: ProviderRegistration,
    locked_agent: LockedAgent,
    access: ProviderAccess,
    policy: LivenessPolicy,
) -> None:
    before, is_moved = _audited(provider), provider.endpoint != registration.endpoint
    is_back = not provider.holds_type
    for name, value in registration.facts().items():
        setattr(provider, name, value)
    provider.expires_at, provider.holds_type = locked_agent.now + policy.lease, True
    if is_back or is_moved:
        record, reason = _first_record(registration)
    else:
        record, reason = _next_record(provider, registration)
    if registration.status:
        provider.checked_at = locked_agent.now
    if before != _audited(provider):
        provider.updated_at = Now()
    storage.judge(provider, record, reason, locked_agent, access.author)
    if before != _audited(provider) or is_back:
        after = _audited(provider)
        _record(PROVIDER_CHANGED, provider, locked_agent, access.actor, before=before, after=after)


def _first_record(registration: ProviderRegistration) -> tuple[HealthRecord, str]:
    """Return the record and reason of a provider that is new, has returned, or has a new endpoint."""
    policy = storage.health_policy()
    record = unknown(policy)
    if registration.status is None:
        return record, "Registered; no health report yet."
    return after_probes(record, registration.status, policy=policy), "Reported at registration."


def _next_record(provider: Provider, registration: ProviderRegistration) -> tuple[HealthRecord, str]:
    record = storage.record_of(provider)
    if registration.status is None:
        return record, provider.state_reason
    return after_probes(
        record, registration.status, policy=storage.health_policy()
    ), "Reported at registration."


def _registered(provider: Provider, locked_agent: LockedAgent, policy: LivenessPolicy) -> RegisteredProvider:
    expired = leases.is_over(provider, locked_agent.lease, policy, locked_agent.now)
    return RegisteredProvider(
        provider.provider_id, provider.name, provider.service_type, provider.holds_type, expired
    )


def _record(
    event_type: EventType,
    provider: Provider,
    locked_agent: LockedAgent,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    audit.record(
        event_type,
        "provider",
        storage.object_id(provider),
        actor=actor,
        before=before,
        after=after,
        data=storage.facts(provider, locked_agent.agent),
        team_id=locked_agent.agent.team_id,
    )


def _audited(provider: Provider) -> dict[str, Any]:
    return {name: getattr(provider, name) for name in _AUDITED}


def _reloaded(provider: Provider) -> Provider:
    return Provider.objects.select_related("agent__lease").get(id=provider.id)
