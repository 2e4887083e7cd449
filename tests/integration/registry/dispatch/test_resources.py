"""A resource from its request to its end, in the database."""

from __future__ import annotations

import pytest

from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Role
from controlplane.messaging.envelope import Envelope
from controlplane.messaging.models import OutboxMessage
from registry.agents.models import Agent
from registry.dispatch.inbound.receiving import Sender, receive_message
from registry.dispatch.models import AssignmentRow, ResourceRow
from registry.dispatch.resources.requests import ResourceRequest, create_resource, delete_resource

pytestmark = pytest.mark.django_db

ADMIN = Caller(None, "admin", "user", (Grant(Role.ADMIN),))
ACTOR = Actor(None, "admin")


@pytest.fixture
def agent() -> Agent:
    return Agent.objects.create(
        name="alpha",
        environment="prod",
        service_types=["container"],
        cost="low",
        topic_name="dcm.agent.alpha",
        state="ready",
    )


def answer(kind: str, agent: Agent, resource_id: str, number: int = 1, **data: object) -> bool:
    body = {"resource_id": resource_id, "agent_name": agent.name, **data}
    event = Envelope(f"{kind}-{number}", f"dcm/agents/{agent.name}", f"dcm.agent.{kind}", body)
    return receive_message(event, Sender())


def test_a_resource_lives_and_is_deleted(agent: Agent) -> None:
    create_resource(ResourceRequest("web", "container", {"image": "nginx"}), actor=ACTOR)
    sent = OutboxMessage.objects.get()
    assert (sent.destination, sent.event_id, sent.data["epoch"]) == ("dcm.agent.alpha", "web", 1)

    assert answer("creation-acknowledged", agent, "web")
    assert not answer("creation-acknowledged", agent, "web")
    status = {"id": "web", "status": "RUNNING", "message": "ok"}
    receive_message(Envelope("s1", "dcm/providers/p", "dcm.status.container", status), Sender())
    assert ResourceRow.objects.get().state == "running"
    assert OutboxMessage.objects.get().settled_at is not None

    delete_resource("web", force=False, caller=ADMIN, actor=ACTOR)
    assert ResourceRow.objects.get().state == "deleting"
    answer("deletion-acknowledged", agent, "web", status="DELETING")
    assert ResourceRow.objects.get().state == "deleting"
    answer("deletion-acknowledged", agent, "web", 2, status="DELETED")
    row = ResourceRow.objects.get()
    assert (row.state, row.due_at) == ("deleted", None)
    assert AssignmentRow.objects.get().state == "closed"
