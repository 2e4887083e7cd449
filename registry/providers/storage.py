"""Storage of providers under the lock of their agent's lease, with history, events and conditions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

from controlplane.events import log
from controlplane.events.types import EventType
from registry.agents.lookup import unknown_agent
from registry.agents.models import Agent, Lease
from registry.providers.conditions import ProviderStatus, type_conditions
from registry.providers.event_types import BY_HEALTH, PROVIDER_EXPIRED
from registry.providers.health import Health, HealthPolicy, HealthRecord
from registry.providers.models import Provider, ProviderChange


@dataclass(frozen=True, slots=True)
class Author:
    """Author of a change: the actor's name, and the request id if there is one."""

    actor: str
    request_id: str = ""


@dataclass(slots=True)
class LockedAgent:
    """An agent whose lease is locked by this transaction, with all of its providers."""

    agent: Agent
    lease: Lease
    now: datetime
    providers: list[Provider]


def health_policy() -> HealthPolicy:
    return HealthPolicy(settings.PROVIDER_FAILURES, settings.PROVIDER_RECOVERIES)


def lock_agent(agent_id: UUID) -> LockedAgent:
    """Lock the lease first, as heartbeats and the sweep do. Requires a transaction. Raises UnknownAgent."""
    lease = Lease.objects.select_for_update().annotate(now=Now()).filter(agent_id=agent_id).first()
    if lease is None:
        raise unknown_agent(agent_id)
    return load_locked_agent(Agent.objects.get(id=agent_id), lease, lease.now)


def load_locked_agent(agent: Agent, lease: Lease, now: datetime) -> LockedAgent:
    """Load the providers of an agent whose lease the caller has already locked."""
    return LockedAgent(agent, lease, now, list(Provider.objects.filter(agent=agent).order_by("id")))


def record_of(provider: Provider) -> HealthRecord:
    return HealthRecord(Health(provider.state), provider.failures, provider.recoveries)


def judge(
    provider: Provider, record: HealthRecord, reason: str, locked_agent: LockedAgent, author: Author
) -> None:
    """Store the record; add a change of state to the history and record an event."""
    old = Health(provider.state)
    provider.failures, provider.recoveries = record.failures, record.recoveries
    if record.state is not old:
        provider.state, provider.state_reason, provider.state_since = (
            record.state.value,
            reason,
            locked_agent.now,
        )
        _add_change(provider, old.value, locked_agent.agent, author)
        announce(BY_HEALTH[record.state], provider, locked_agent.agent, author, old=old.value)
    provider.save()


def expire(provider: Provider, reason: str, locked_agent: LockedAgent, author: Author) -> None:
    """Make the provider unavailable and free its service type: its lease has expired."""
    old = provider.state
    provider.state, provider.holds_type = Health.UNAVAILABLE.value, False
    provider.state_reason, provider.state_since = reason, locked_agent.now
    provider.failures = provider.recoveries = 0
    provider.vouched = False
    provider.save()
    _add_change(provider, old, locked_agent.agent, author)
    announce(PROVIDER_EXPIRED, provider, locked_agent.agent, author, old=old)


def record_first(provider: Provider, locked_agent: LockedAgent, author: Author) -> None:
    """Add the first entry to the provider's history."""
    _add_change(provider, "", locked_agent.agent, author)


def record_last(provider: Provider, reason: str, locked_agent: LockedAgent, author: Author) -> None:
    old, provider.state, provider.state_reason = provider.state, "", reason
    _add_change(provider, old, locked_agent.agent, author)


def publish_conditions(locked_agent: LockedAgent) -> None:
    """Update the service type conditions of the agent from the health of its providers."""
    conditions = type_conditions(_status_of(provider) for provider in locked_agent.providers)
    if conditions == locked_agent.agent.service_type_conditions:
        return
    locked_agent.agent.service_type_conditions = conditions
    Agent.objects.filter(id=locked_agent.agent.id).update(service_type_conditions=conditions)


def facts(provider: Provider, agent: Agent) -> dict[str, Any]:
    """Return the members that all events of a provider have."""
    return {
        "agent_id": str(agent.id),
        "agent": agent.name,
        "environment": agent.environment,
        "provider_id": provider.provider_id,
        "name": provider.name,
        "service_type": provider.service_type,
    }


def object_id(provider: Provider) -> str:
    """Return the object id of a provider in events and in the audit log."""
    return f"{provider.agent_id}/{provider.provider_id}"


def announce(event_type: EventType, provider: Provider, agent: Agent, author: Author, *, old: str) -> None:
    log.append(
        event_type,
        "provider",
        object_id(provider),
        data={**facts(provider, agent), "from": old, "reason": provider.state_reason},
        actor=author.actor,
        request_id=author.request_id,
        team_id=agent.team_id,
    )


def _add_change(provider: Provider, old: str, agent: Agent, author: Author) -> None:
    ProviderChange.objects.create(
        agent=agent,
        provider_id=provider.provider_id,
        name=provider.name,
        service_type=provider.service_type,
        old=old,
        new=provider.state,
        reason=provider.state_reason,
        actor=author.actor,
    )


def _status_of(provider: Provider) -> ProviderStatus:
    return ProviderStatus(
        provider.service_type,
        provider.name,
        Health(provider.state),
        provider.holds_type,
        provider.state_reason,
        provider.state_since,
    )
