"""Requests that an agent fetches by HTTPS, and the answers that it sends back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from controlplane.errors import UnknownResource
from controlplane.events.event_filter import EVERYTHING
from controlplane.events.stream_protocol import Watch
from controlplane.identity.callers import Caller
from controlplane.messaging.envelope import Envelope, as_members
from controlplane.messaging.models import OutboxMessage
from controlplane.messaging.outbox import HTTPS, envelope_of
from registry.agents.models import Agent
from registry.dispatch.channels import announce, lease_messages, note_fetch
from registry.dispatch.event_types import AGENT_REQUESTS_WAITING
from registry.dispatch.inbound.answer_traces import answer_span
from registry.dispatch.inbound.receiving import Sender, UnknownMessage, receive_message

# A fetched request is handed out again after this time without an answer.
LEASE_SECONDS = 120
_PATH = re.compile(r"/api/v1/agents/[^/]+/requests")


@dataclass(frozen=True, slots=True)
class FetchedRequest:
    """message_id: of this copy; a repeated request has another one. event: the CloudEvent."""

    message_id: UUID
    event: dict[str, Any]


def is_fetch_path(path: str) -> bool:
    """True for requests that may wait; controlplane.endpoints.events.streams handles them."""
    return _PATH.fullmatch(path) is not None


@transaction.atomic
def fetch_requests(agent: Agent, *, limit: int, restarted: bool = False) -> list[FetchedRequest]:
    """Lease the agent's next requests to it, and note that it fetches by HTTPS.

    restarted: what an earlier process fetched may be lost, so its leases end.
    """
    note_fetch(agent)
    if restarted:
        _of(agent).update(leased_until=None)
    ids = lease_messages(agent, limit=limit, seconds=LEASE_SECONDS)
    messages = OutboxMessage.objects.in_bulk(ids, field_name="id")
    return [FetchedRequest(one, as_members(envelope_of(messages[one]))) for one in ids]


def watch_requests(agent: Agent, caller: Caller, *, after: int, seconds: int) -> Watch:
    """Return a watch for requests of the agent, which shows no events and needs no permission for them."""
    whose = str(caller.principal_id)
    return Watch(
        after,
        whose,
        EVERYTHING,
        type=AGENT_REQUESTS_WAITING.name,
        object_type="agent",
        object_id=str(agent.id),
        wait=seconds,
    )


@transaction.atomic
def receive_answer(agent: Agent, envelope: Envelope) -> bool:
    """Apply an answer or a status of the agent; return False if it was applied before.

    `data.message_id` names the message that it answers, whatever its type. Raises UnknownResource.
    """
    try:
        with answer_span(envelope):
            is_new = receive_message(envelope, Sender(str(agent.id)))
    except UnknownMessage as error:
        raise UnknownResource(
            "The agent has no request for the resource that this event names. Stop sending events about it."
        ) from error
    _settle_named(agent, envelope.data.get("message_id"))
    resource_id = envelope.data.get("resource_id") or envelope.data.get("id")
    if _of(agent).filter(order_key=f"resource:{resource_id}", leased_until=None).exists():
        # It waited for this answer.
        announce({agent.id})
    return is_new


def _settle_named(agent: Agent, message_id: Any) -> None:
    try:
        named = UUID(message_id)
    except (TypeError, ValueError, AttributeError):
        return
    _of(agent).filter(id=named).exclude(leased_until=None).update(settled_at=Now())


def _of(agent: Agent) -> Any:
    topic = agent.topic_name
    return OutboxMessage.objects.filter(
        channel=HTTPS, destination__in=(topic, f"{topic}.cancel"), settled_at=None
    )
