"""A recorded conversation with the real DCM agent, played again: what we send, and where its answers lead.

tests/nightly/test_dcm_agent.py records it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from controlplane.messaging import outbox
from controlplane.messaging.envelope import as_members
from controlplane.messaging.models import OutboxMessage
from registry.agents.models import Agent
from registry.dispatch.inbound.arrivals import Arrival, apply
from registry.dispatch.models import AgentMessaging, AssignmentRow, ResourceRow
from tests.support import dcm_agent
from tests.support.api_client import Api
from tests.support.dcm_agent import NAME, RECORDING, SERVICE_TYPE, without_times

pytestmark = pytest.mark.django_db
CONVERSATION: dict[str, list[dict[str, Any]]] = json.loads(RECORDING.read_text())


class Replay:
    def __init__(self) -> None:
        self.sequence = 0
        # Our message ids by those of the recording.
        self.message_ids: dict[str, str] = {}

    def play(self, step: dict[str, Any]) -> None:
        if "sent" in step:
            self._expect(step)
        elif "received" in step:
            self._receive(step)
        elif step["do"] == "becomes":
            assert ResourceRow.objects.get(id=step["resource_id"]).state == step["state"]
        else:
            getattr(dcm_agent, step["do"])(step["resource_id"])

    def _expect(self, step: dict[str, Any]) -> None:
        """Our next message equals the recorded one. One that was sent twice has one message id."""
        name = step["headers"]["Nats-Msg-Id"]
        if name in self.message_ids:
            return
        unsent = OutboxMessage.objects.filter(sent_at=None, settled_at=None)
        message = unsent.earliest("position")
        unsent.filter(id=message.id).update(sent_at=Now())
        body = as_members(outbox.envelope_of(message))
        assert message.destination == step["sent"]
        assert json.loads(without_times(json.dumps(body))) == step["body"]
        assert str(message.id) not in self.message_ids.values()
        self.message_ids[name] = str(message.id)

    def _receive(self, step: dict[str, Any]) -> None:
        self.sequence += 1
        apply(Arrival(step["received"], json.dumps(step["body"]).encode(), self.sequence, timezone.now()))


@pytest.fixture(autouse=True)
def _agent(db: None, settings: Any) -> None:
    """It registered without a token, as this agent does."""
    settings.DCM_AGENTS = True
    body = {"name": NAME, "environment": "prod", "service_types": [SERVICE_TYPE], "cost": "low"}
    registered = Api().post("/api/v1alpha1/agents", {**body, "topic_name": f"dcm.agent.{NAME}"})
    assert registered.status_code == 201, registered.content
    facts = {"has_consumer": True, "checked_at": Now()}
    AgentMessaging.objects.update_or_create(agent=Agent.objects.get(), defaults=facts)


def test_the_conversation_covers_every_way_of_a_request() -> None:
    kinds = {step["body"]["type"] for steps in CONVERSATION.values() for step in steps if "body" in step}
    assert kinds >= {f"dcm.request.{kind}" for kind in ("create", "delete", "cancel")}
    answers = ("creation-acknowledged", "deletion-acknowledged", "request-queued", "error")
    assert kinds >= {f"dcm.agent.{kind}" for kind in (*answers, "cancel-acknowledged", "cancel-rejected")}


@pytest.mark.parametrize("scenario", CONVERSATION)
def test_a_recorded_scenario_ends_as_it_did(scenario: str) -> None:
    replay = Replay()
    for step in CONVERSATION[scenario]:
        replay.play(step)
    assert not OutboxMessage.objects.filter(settled_at=None).exists()
    assert AssignmentRow.objects.get().epoch == 1
