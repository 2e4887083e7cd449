"""Providers as stored: under the lock of their agent's lease, with their history, events and conditions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

from controlplane.errors import UnknownAgent
from controlplane.events import log
from controlplane.events.types import EventType
from registry.agents.models import Agent, Lease
from registry.providers.conditions import Serving, type_conditions
from registry.providers.event_types import BY_HEALTH, PROVIDER_EXPIRED
from registry.providers.health import Health, HealthPolicy, HealthRecord
from registry.providers.models import Provider, ProviderChange


@dataclass(frozen=True, slots=True)
class By:
    """Who changes a provider: the name, and the request if there is one."""

    actor: str
    request_id: str = ""


@dataclass(slots=True)
class Locked:
    """An agent whose lease's row is ours, and all of its providers."""

    agent: Agent
    lease: Lease
    now: datetime
    providers: list[Provider]


def health_policy() -> HealthPolicy:
    return HealthPolicy(settings.PROVIDER_FAILURES, settings.PROVIDER_RECOVERIES)


def lock(agent_id: UUID) -> Locked:
    """The lease's row first, as heartbeats and the sweep do. Needs a transaction. Raises UnknownAgent."""
    lease = Lease.objects.select_for_update().annotate(now=Now()).filter(agent_id=agent_id).first()
    if lease is None:
        raise UnknownAgent(f"There is no agent {agent_id}.")
    return locked(Agent.objects.get(id=agent_id), lease, lease.now)


def locked(agent: Agent, lease: Lease, now: datetime) -> Locked:
    """The same, for who holds the lease's row already."""
    return Locked(agent, lease, now, list(Provider.objects.filter(agent=agent).order_by("id")))


def record_of(provider: Provider) -> HealthRecord:
    return HealthRecord(Health(provider.state), provider.failures, provider.recoveries)


def judge(provider: Provider, record: HealthRecord, reason: str, held: Locked, by: By) -> None:
    """Keep the record; a change of state goes into the history, with an event."""
    old = Health(provider.state)
    provider.failures, provider.recoveries = record.failures, record.recoveries
    if record.state is not old:
        provider.state, provider.state_reason, provider.state_since = record.state.value, reason, held.now
        _remember(provider, old.value, held.agent, by)
        announce(BY_HEALTH[record.state], provider, held.agent, by, old=old.value)
    provider.save()


def expire(provider: Provider, reason: str, held: Locked, by: By) -> None:
    """Free its service type: nobody has named the provider for a whole lease."""
    old = provider.state
    provider.state, provider.holds_type = Health.UNAVAILABLE.value, False
    provider.state_reason, provider.state_since = reason, held.now
    provider.failures = provider.recoveries = 0
    provider.vouched = False
    provider.save()
    _remember(provider, old, held.agent, by)
    announce(PROVIDER_EXPIRED, provider, held.agent, by, old=old)


def remember_first(provider: Provider, held: Locked, by: By) -> None:
    """Begin its history."""
    _remember(provider, "", held.agent, by)


def remember_last(provider: Provider, reason: str, held: Locked, by: By) -> None:
    old, provider.state, provider.state_reason = provider.state, "", reason
    _remember(provider, old, held.agent, by)


def publish_conditions(held: Locked) -> None:
    """Show on the agent what its providers' health means for its service types."""
    conditions = type_conditions(_serving(one) for one in held.providers)
    if conditions == held.agent.service_type_conditions:
        return
    held.agent.service_type_conditions = conditions
    Agent.objects.filter(id=held.agent.id).update(service_type_conditions=conditions)


def facts(provider: Provider, agent: Agent) -> dict[str, Any]:
    """What events say of it."""
    return {
        "agent_id": str(agent.id),
        "agent": agent.name,
        "environment": agent.environment,
        "provider_id": provider.provider_id,
        "name": provider.name,
        "service_type": provider.service_type,
    }


def object_id(provider: Provider) -> str:
    """Its name in events and in the audit log."""
    return f"{provider.agent_id}/{provider.provider_id}"


def announce(event_type: EventType, provider: Provider, agent: Agent, by: By, *, old: str) -> None:
    log.append(
        event_type,
        "provider",
        object_id(provider),
        data={**facts(provider, agent), "from": old, "reason": provider.state_reason},
        actor=by.actor,
        request_id=by.request_id,
    )


def _remember(provider: Provider, old: str, agent: Agent, by: By) -> None:
    ProviderChange.objects.create(
        agent=agent,
        provider_id=provider.provider_id,
        name=provider.name,
        service_type=provider.service_type,
        old=old,
        new=provider.state,
        reason=provider.state_reason,
        actor=by.actor,
    )


def _serving(one: Provider) -> Serving:
    return Serving(
        one.service_type, one.name, Health(one.state), one.holds_type, one.state_reason, one.state_since
    )
