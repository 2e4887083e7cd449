"""Agents and providers as seen over NATS: their streams, what they publish, and the loops that read it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import StreamSpec, ToPublish
from controlplane.messaging.streams import specs
from registry.agents.models import Agent, Lease
from registry.dispatch.models import AgentMessaging

# Created by agents.
OF_AGENTS = StreamSpec("dcm-health", ("dcm.agents.health",), "limits")
Loop = Callable[[NatsConnection, threading.Event], None]


def empty_streams(nats: NatsConnection) -> None:
    """Create every stream anew."""
    for stream in (*specs(), OF_AGENTS):
        nats.delete_stream(stream.name)
        nats.ensure_stream(stream)


def make_agent(name: str, *, registered_by: UUID | None = None, **fields: Any) -> Agent:
    """An agent that gets its requests over NATS. Without `registered_by`, it is one of DCM."""
    facts = {"environment": "prod", "service_types": ["container"], "cost": "low", "state": "ready"}
    topic = f"dcm.agent.{name}"
    agent = Agent.objects.create(
        **{**facts, **fields}, name=name, topic_name=topic, registered_by=registered_by
    )
    now = agent.created_at
    Lease.objects.create(agent=agent, renewed_at=now, expires_at=now, state=agent.state)
    AgentMessaging.objects.create(agent=agent, has_consumer=True)
    return agent


def answer_of(agent: Agent, kind: str, resource_id: str, number: int = 1, **data: Any) -> bytes:
    """An answer as DCM's agent writes it."""
    body = {"resource_id": resource_id, "agent_name": agent.name, "topic_name": agent.topic_name, **data}
    return event(f"{resource_id}-{kind}-{number}", f"dcm/agents/{agent.name}", f"dcm.agent.{kind}", body)


def status_of(resource_id: str, status: str, number: int = 1, service_type: str = "container") -> bytes:
    body = {"id": resource_id, "status": status, "message": ""}
    return event(f"{resource_id}-s{number}", "dcm/providers/p", f"dcm.status.{service_type}", body)


def event(event_id: str, source: str, event_type: str, data: dict[str, Any]) -> bytes:
    members = {"specversion": "1.0", "id": event_id, "source": source, "type": event_type, "data": data}
    return json.dumps(members).encode()


_count = iter(range(1_000_000_000))


def publish(nats: NatsConnection, subject: str, *bodies: bytes) -> None:
    messages = [ToPublish(subject, body, f"m{next(_count)}") for body in bodies]
    assert set(nats.publish(messages, timeout=30)) == {""}


@contextmanager
def running(nats: NatsConnection, *loops: Loop) -> Iterator[None]:
    """Run loops in threads, until the end of the block."""
    stopping = threading.Event()
    threads = [threading.Thread(target=loop, args=(nats, stopping)) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
