"""Agents, resources and answers for tests of dispatch."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

from django.db.models.functions import Now

from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Role
from controlplane.messaging.envelope import Envelope
from controlplane.messaging.models import OutboxMessage
from registry.agents.models import Agent, Lease, SweepRecord
from registry.dispatch.inbound.receiving import Sender, receive_message
from registry.dispatch.models import AgentMessaging, ResourceRow
from registry.dispatch.resources.requests import ResourceRequest, create_resource

ADMIN = Caller(None, "admin", "user", (Grant(Role.ADMIN),))
ACTOR = Actor(None, "admin")
_numbers = count(1)


def make_agent(name: str, *, state: str = "ready", cost: str = "low", **facts: Any) -> Agent:
    agent = Agent.objects.create(
        name=name,
        environment=facts.pop("environment", "prod"),
        service_types=["container"],
        cost=cost,
        topic_name=f"dcm.agent.{name}",
        state=state,
        **facts,
    )
    Lease.objects.get_or_create(
        agent=agent,
        defaults={"state": state, "expires_at": Now() + timedelta(hours=1), "renewed_at": Now()},
    )
    AgentMessaging.objects.create(agent=agent, has_consumer=True, checked_at=Now())
    return agent


def request(resource_id: str = "web", **more: Any) -> ResourceRow:
    return create_resource(ResourceRequest(resource_id, "container", {"image": "nginx"}, **more), actor=ACTOR)


def answer(kind: str, agent: Agent, resource_id: str = "web", **data: object) -> bool:
    body = {"resource_id": resource_id, "agent_name": agent.name, **data}
    event = Envelope(str(next(_numbers)), f"dcm/agents/{agent.name}", f"dcm.agent.{kind}", body)
    return receive_message(event, Sender())


def report(status: str, resource_id: str = "web", message: str = "") -> bool:
    data = {"id": resource_id, "status": status, "message": message}
    return receive_message(Envelope(str(next(_numbers)), "p", "dcm.status.container", data), Sender())


def send_all() -> None:
    """As if NATS had stored everything."""
    OutboxMessage.objects.filter(sent_at=None).update(sent_at=Now())


def end_grace() -> None:
    """The control plane has been reachable for a day."""
    SweepRecord.objects.update_or_create(
        id=1, defaults={"last_sweep_at": Now(), "reachable_since": Now() - timedelta(days=1)}
    )
