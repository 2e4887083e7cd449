"""Messages of the outbox for tests, and what a stream has received of them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from controlplane.messaging import outbox
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ConsumerSpec, Received
from controlplane.messaging.streams import REQUESTS

ALL_REQUESTS = ConsumerSpec(REQUESTS, "test-all", ack_wait_seconds=60, max_ack_pending=100_000)


def outgoing(resource: str, number: int = 1, agent: str = "alpha", **data: object) -> outbox.Outgoing:
    return outbox.Outgoing(
        f"dcm.agent.{agent}",
        f"resource:{resource}",
        f"{resource}-{number}",
        "dcm.request.create",
        "dcm/control-plane",
        {"resource_id": resource, "number": number, **data},
    )


def put(messages: Sequence[outbox.Outgoing]) -> None:
    with transaction.atomic():
        outbox.put(messages)


def read_all(nats: NatsConnection, number: int, seconds: float = 10) -> list[Received]:
    """Read that many requests, and those that follow at once; they stay in the stream."""
    received: list[Received] = []
    while len(received) < number:
        page = nats.fetch(ALL_REQUESTS, limit=500, seconds=seconds)
        assert page, f"{len(received)} of {number} messages arrived."
        received += page
    return received + nats.fetch(ALL_REQUESTS, limit=500, seconds=0.05)
