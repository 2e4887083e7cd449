"""Register service providers, and take them away. Registering again renews the lease."""

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
from registry.agents.models import Lease
from registry.providers import leases, storage
from registry.providers.event_types import PROVIDER_CHANGED, PROVIDER_REGISTERED, PROVIDER_REMOVED
from registry.providers.health import HealthRecord, after_probes, unknown
from registry.providers.models import Provider
from registry.providers.registration import ProviderRegistration, check
from registry.providers.slots import Known, place
from registry.providers.storage import By, Locked

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
class Allowed:
    """Who asks. any_agent: they may also change the providers of agents that others registered."""

    actor: Actor
    any_agent: bool

    @property
    def by(self) -> By:
        return By(self.actor.name, self.actor.request_id)

    def check(self, held: Locked) -> None:
        if not self.any_agent and held.agent.registered_by != self.actor.principal_id:
            raise PermissionDenied("This agent was registered with another token.")


@transaction.atomic
def register_provider(
    agent_id: UUID,
    registration: ProviderRegistration,
    *,
    provider_id: str | None,
    allowed: Allowed,
    policy: LivenessPolicy,
) -> tuple[Provider, bool]:
    """Create the provider or refresh it; its lease begins. Returns it and whether it is new.

    Raises InvalidProvider, NameTaken, ServiceTypeTaken, UnknownAgent, PermissionDenied.
    """
    check(registration, provider_id)
    held = storage.lock(agent_id)
    allowed.check(held)
    known = [_known(one, held, policy) for one in held.providers]
    placed = place(registration.name, provider_id, registration.service_type, known)
    by_id = {one.provider_id: one for one in held.providers}
    if placed.released:
        reason = f"The provider {registration.name!r} took the type over: the lease had run out."
        storage.expire(by_id[placed.released.provider_id], reason[:255], held, allowed.by)
    if placed.same:
        provider = by_id[placed.same.provider_id]
        _refresh(provider, registration, held, allowed, policy)
    else:
        provider = _insert(registration, provider_id or str(uuid.uuid4()), held, allowed, policy)
    # A report that was sent before now counts for this provider too: the next one is looked at.
    Lease.objects.filter(agent=held.agent).update(report_digest=None)
    storage.publish_conditions(held)
    return _shown(provider), placed.same is None


@transaction.atomic
def remove_provider(agent_id: UUID, provider_id: str, *, allowed: Allowed) -> None:
    """Forget the provider; its type is as the agent says again. Raises UnknownProvider."""
    held = storage.lock(agent_id)
    allowed.check(held)
    provider = next((one for one in held.providers if one.provider_id == provider_id), None)
    if provider is None:
        raise UnknownProvider(f"The agent {held.agent.name!r} has no provider {provider_id[:63]!r}.")
    _record(PROVIDER_REMOVED, provider, held, allowed.actor, before=_audited(provider), after=None)
    storage.remember_last(provider, "It was taken away.", held, allowed.by)
    held.providers.remove(provider)
    provider.delete()
    storage.publish_conditions(held)


def _insert(
    registration: ProviderRegistration,
    provider_id: str,
    held: Locked,
    allowed: Allowed,
    policy: LivenessPolicy,
) -> Provider:
    record, reason = _first_record(registration)
    provider = Provider(
        **registration.facts(),
        agent=held.agent,
        provider_id=provider_id,
        state=record.state.value,
        state_reason=reason,
        state_since=held.now,
        failures=record.failures,
        recoveries=record.recoveries,
        checked_at=held.now if registration.status else None,
        expires_at=held.now + policy.lease,
        updated_at=Now(),
    )
    provider.save(force_insert=True)
    held.providers.append(provider)
    storage.remember_first(provider, held, allowed.by)
    _record(PROVIDER_REGISTERED, provider, held, allowed.actor, before=None, after=_audited(provider))
    return provider


def _refresh(
    provider: Provider,
    registration: ProviderRegistration,
    held: Locked,
    allowed: Allowed,
    policy: LivenessPolicy,
) -> None:
    before, moved = _audited(provider), provider.endpoint != registration.endpoint
    back = not provider.holds_type
    for name, value in registration.facts().items():
        setattr(provider, name, value)
    provider.expires_at, provider.holds_type = held.now + policy.lease, True
    if back or moved:
        record, reason = _first_record(registration)
    else:
        record, reason = _told(provider, registration)
    if registration.status:
        provider.checked_at = held.now
    if before != _audited(provider):
        provider.updated_at = Now()
    storage.judge(provider, record, reason, held, allowed.by)
    if before != _audited(provider) or back:
        after = _audited(provider)
        _record(PROVIDER_CHANGED, provider, held, allowed.actor, before=before, after=after)


def _first_record(registration: ProviderRegistration) -> tuple[HealthRecord, str]:
    """Of a provider that is new, is back, or lies elsewhere now."""
    policy = storage.health_policy()
    record = unknown(policy)
    if registration.status is None:
        return record, "It registered; the agent has not said how it is."
    return after_probes(record, registration.status, policy=policy), "As it registered."


def _told(provider: Provider, registration: ProviderRegistration) -> tuple[HealthRecord, str]:
    record = storage.record_of(provider)
    if registration.status is None:
        return record, provider.state_reason
    return after_probes(record, registration.status, policy=storage.health_policy()), "As it registered."


def _known(one: Provider, held: Locked, policy: LivenessPolicy) -> Known:
    expired = leases.is_over(one, held.lease, policy, held.now)
    return Known(one.provider_id, one.name, one.service_type, one.holds_type, expired)


def _record(
    event_type: EventType,
    provider: Provider,
    held: Locked,
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
        data=storage.facts(provider, held.agent),
    )


def _audited(provider: Provider) -> dict[str, Any]:
    return {name: getattr(provider, name) for name in _AUDITED}


def _shown(provider: Provider) -> Provider:
    return Provider.objects.select_related("agent__lease").get(id=provider.id)
