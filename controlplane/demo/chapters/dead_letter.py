"""An answer over NATS about a resource that does not exist: a message that nobody can handle."""

from __future__ import annotations

import json
import uuid

from django.conf import settings

from controlplane.demo.cast import Cast
from controlplane.demo.chapters.fleet import agent_ids
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ToPublish

_AGENT = "site-2"
_SECONDS = 5.0


def tell(cast: Cast) -> None:
    subject = f"dcm.agents.{agent_ids(cast)[_AGENT]}.responses"
    event = {
        "specversion": "1.0",
        "id": str(uuid.uuid4()),
        "source": f"dcm/agents/{_AGENT}",
        "type": "dcm.agent.creation-acknowledged",
        "data": {"resource_id": "pos-terminal-17", "agent_name": _AGENT, "epoch": 1},
    }
    message = ToPublish(subject, json.dumps(event).encode(), str(event["id"]))
    with NatsConnection(settings.NATS_URL, name="demo") as connection:
        if connection.wait_connected(_SECONDS):
            connection.publish([message], timeout=_SECONDS)
