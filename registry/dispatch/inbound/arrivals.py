"""One message that arrived over NATS: who sent it, what it changes, and why it may be refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import DataError, transaction
from django.db.models import Q, QuerySet

from controlplane.messaging import inbox
from controlplane.messaging.envelope import Envelope, InvalidEnvelope, decode
from controlplane.messaging.outbox import HTTPS
from controlplane.observability.traces.statements import traced_statements
from registry.agents.models import Agent
from registry.dispatch.inbound import health_reports
from registry.dispatch.inbound.answer_traces import answer_span
from registry.dispatch.inbound.receiving import Sender, UnknownMessage, receive_message
from registry.dispatch.lifecycle.answers import AnswerType
from registry.dispatch.models import ResourceRow

SHARED_ANSWERS, SHARED_HEALTH = "dcm.agents.responses", "dcm.agents.health"
# Agents answer so to requests that they cannot read (dispatch.md A11).
_NO_RESOURCE = frozenset({"", "unknown"})
_OWN_ANSWERS = re.compile(r"dcm\.agents\.([0-9a-f-]{36})\.responses")
_STATUS = re.compile(r"dcm\.([^.]+)")
_RESOURCE_ID = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_STATUS_TYPES, _HEALTH_TYPES = "dcm.status.", "dcm.agent.health."
_LENGTH = 255


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message of a stream. stored_at: when the stream stored it. traceparent: of its header."""

    subject: str
    body: bytes
    sequence: int
    stored_at: datetime
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """The resource that a message names, and the team whose readers may see the message."""

    resource_id: str = ""
    team_id: UUID | None = None


class Refused(Exception):
    """Nobody can handle the message; it is kept as a dead letter."""


def apply(arrival: Arrival) -> bool:
    """Apply the message once; return False if it has no effect any more. Raises Refused."""
    try:
        envelope = _read(arrival.body)
        with answer_span(envelope, arrival.traceparent) as span, traced_statements(span):
            return _apply(arrival, envelope)
    except UnknownMessage as error:
        raise Refused(str(error)) from error
    except DataError as error:
        raise Refused("A value in it is too long, or cannot be stored.") from error


def origin_of(subject: str, body: bytes) -> Origin:
    """Find the resource that a message names, if it can be read, and its owner."""
    resource_id = _named_resource(body)
    row = ResourceRow.objects.filter(id=resource_id).values_list("team_id").first() if resource_id else None
    proven = _OWN_ANSWERS.fullmatch(subject)
    if proven and (agent_id := _uuid(proven[1])):
        # An agent of a team cannot show its messages to another team.
        agent = Agent.objects.filter(id=agent_id).values_list("team_id").first()
        if agent is not None and agent[0] is not None:
            return Origin(resource_id, agent[0])
    return Origin(resource_id, row[0] if row else None)


def _read(body: bytes) -> Envelope:
    try:
        envelope = decode(body)
    except InvalidEnvelope as error:
        raise Refused(f"It is no CloudEvent. {error}") from error
    if max(len(envelope.id), len(envelope.source)) > _LENGTH:
        raise Refused(f"Its id or its source is longer than {_LENGTH} characters.")
    if envelope.type == AnswerType.ERROR and envelope.data.get("resource_id") in _NO_RESOURCE:
        code = str(envelope.data.get("error"))[:80]
        raise Refused(f"The agent reports {code} for a request that it could not read.")
    return envelope


def _apply(arrival: Arrival, envelope: Envelope) -> bool:
    if envelope.type.startswith(_HEALTH_TYPES):
        return _apply_health(arrival, envelope)
    if _STATUS.fullmatch(arrival.subject):
        return _apply_status(arrival, envelope)
    sender = _prove_sender(arrival.subject, envelope)
    if envelope.type.startswith(_STATUS_TYPES):
        return _apply_in_order(arrival, envelope, sender)
    return receive_message(envelope, sender)


def _apply_health(arrival: Arrival, envelope: Envelope) -> bool:
    """Apply a report of health, which an agent with an identity of its own sends as an answer."""
    sender = _prove_sender(arrival.subject, envelope)
    if sender.agent_id is not None:
        own = Agent.objects.filter(id=sender.agent_id, name=str(envelope.data.get("agent_name")))
        if not own.exists():
            raise Refused("It is about another agent than its sender.")
    return health_reports.receive(envelope, at=arrival.stored_at)


@transaction.atomic
def _apply_in_order(arrival: Arrival, envelope: Envelope, sender: Sender) -> bool:
    resource_id = str(envelope.data.get("id"))
    list(ResourceRow.objects.select_for_update(of=("self",)).filter(id=resource_id).values_list("id"))
    if not inbox.take_in_order(f"answered:{resource_id}"[:_LENGTH], arrival.sequence, arrival.stored_at):
        return False
    return receive_message(envelope, sender)


def _prove_sender(subject: str, envelope: Envelope) -> Sender:
    proven = _OWN_ANSWERS.fullmatch(subject)
    if proven is None:
        _require_dcm_agent(envelope)
        return Sender()
    if _uuid(proven[1]) is None:
        raise Refused(f"{proven[1]} in its subject is no agent's id.")
    return Sender(proven[1])


def _require_dcm_agent(envelope: Envelope) -> None:
    """Refuse a message on a shared subject unless it names an agent for which anybody may speak."""
    name = str(envelope.data.get("agent_name"))
    named = Agent.objects.filter(name=name)
    if not named.exists():
        raise Refused(f"There is no agent {name[:80]!r}.")
    _require_shared(named)


def _require_shared(agents: QuerySet[Agent]) -> None:
    """Refuse to believe others about an agent that could prove to be itself.

    DCM's agents cannot: they share one login at NATS, whether or not they have a token for HTTP.
    """
    has_identity = Q(nats_login__isnull=False) | Q(messaging__channel=HTTPS)
    if not settings.DCM_AGENTS:
        has_identity |= Q(registered_by__isnull=False)
    agent = agents.filter(has_identity).only("id", "name").first()
    if agent is not None:
        raise Refused(
            f"The agent {agent.name[:80]} has an identity of its own. On a shared subject, nobody can prove "
            f"to be this agent: it must publish to dcm.agents.{agent.id}.responses."
        )


@transaction.atomic
def _apply_status(arrival: Arrival, envelope: Envelope) -> bool:
    resource_id, status_type = envelope.data.get("id"), _STATUS.fullmatch(arrival.subject)
    rows = ResourceRow.objects.select_for_update(of=("self",)).filter(id=str(resource_id))
    service_type, agent_id = rows.values_list("service_type", "agent_id").first() or (None, None)
    if service_type is None or status_type is None:
        raise Refused(f"There is no resource {str(resource_id)[:80]!r}.")
    if service_type != status_type[1]:
        raise Refused(f"It reports a status of type {status_type[1][:63]} for a resource of {service_type}.")
    # Providers name no agent: anybody with the shared login could speak for any of them.
    _require_shared(Agent.objects.filter(id__in=[agent_id] if agent_id else []))
    if not inbox.take_in_order(f"status:{resource_id}", arrival.sequence, arrival.stored_at):
        return False
    return receive_message(envelope, Sender())


def _named_resource(body: bytes) -> str:
    try:
        data = decode(body).data
    except InvalidEnvelope:
        return ""
    named = data.get("resource_id") or data.get("id")
    return named if isinstance(named, str) and _RESOURCE_ID.fullmatch(named) else ""


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
