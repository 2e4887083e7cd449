"""Service types that an agent reports as weak by `dcm.agents.health` (dispatch.md A12).

There is no report of a recovery: each mark ends by itself, and with the agent's next registration.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from controlplane.database.clock import statement_now
from controlplane.messaging.envelope import Envelope
from registry.agents.models import Agent, Lease
from registry.dispatch.inbound.receiving import UnknownMessage
from registry.dispatch.models import AgentMessaging
from registry.providers.health import Health

# Three times the lease of a service provider.
MARK_LASTS = timedelta(seconds=270)
_STATUS_BY_TYPE = {
    "dcm.agent.health.service-type-degraded": Health.UNHEALTHY,
    "dcm.agent.health.service-type-unavailable": Health.UNAVAILABLE,
}
_LENGTH = 255


def current_weak_types(marks: Mapping[str, Any], *, generation: int, now: datetime) -> dict[str, Health]:
    """Return the state of each service type that is marked as weak now. Pure.

    marks: AgentMessaging.weak_types. generation: of the agent's lease, which each registration raises.
    """
    return {
        service_type: Health(mark["status"])
        for service_type, mark in marks.items()
        if mark["generation"] == generation and datetime.fromisoformat(mark["until"]) > now
    }


@transaction.atomic
def receive(envelope: Envelope, *, at: datetime) -> bool:
    """Mark a service type of the agent as weak; return False if the report is too old.

    at: when the stream stored the report. Raises UnknownMessage.
    """
    agent = Agent.objects.filter(name=str(envelope.data.get("agent_name"))).first()
    if agent is None:
        raise UnknownMessage("There is no such agent.")
    status = _STATUS_BY_TYPE.get(envelope.type)
    service_type = envelope.data.get("service_type")
    if status is None or envelope.source != f"dcm/agents/{agent.name}":
        raise UnknownMessage(f"{envelope.type[:80]!r} from {envelope.source[:80]!r} is no report of health.")
    if service_type not in agent.service_types:
        raise UnknownMessage(f"The agent does not offer {str(service_type)[:63]!r}.")
    if at + MARK_LASTS < statement_now():
        return False
    AgentMessaging.objects.get_or_create(agent=agent)
    row = AgentMessaging.objects.select_for_update().get(agent=agent)
    former = row.weak_types.get(service_type)
    if former and datetime.fromisoformat(former["since"]) > at:
        return False
    row.weak_types = {**row.weak_types, service_type: _mark(envelope, agent, status, at)}
    row.save(update_fields=["weak_types"])
    return True


def _mark(envelope: Envelope, agent: Agent, status: Health, at: datetime) -> dict[str, Any]:
    return {
        "status": status.value,
        "reason": _text(envelope.data, "reason"),
        "provider": _text(envelope.data, "affected_provider"),
        "since": at.isoformat(),
        "until": (at + MARK_LASTS).isoformat(),
        "generation": Lease.objects.values_list("generation", flat=True).get(agent=agent),
    }


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value[:_LENGTH] if isinstance(value, str) else ""
