"""Messages of agents and providers: each is applied once, to the assignment that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from controlplane.errors import UnknownResource
from controlplane.messaging import inbox
from controlplane.messaging.envelope import Envelope, read_time
from registry.dispatch import storage
from registry.dispatch.lifecycle.answers import Answer, AnswerType, StatusClass, receive
from registry.dispatch.lifecycle.records import Assignment, Resource
from registry.dispatch.lifecycle.service_types import classify_status
from registry.dispatch.lifecycle.states import AssignmentState
from registry.dispatch.policies import service_profiles

_DELETED = "DELETED"
_STATUS = "dcm.status."


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a message. agent_id: proven by its subject or its token; None: only what the message says."""

    agent_id: str | None = None

    def inbox_source(self, envelope: Envelope) -> str:
        # Nobody can use up the event ids of an agent whose sender is proven.
        return f"agent:{self.agent_id}" if self.agent_id else envelope.source


class UnknownMessage(Exception):
    """The message is no answer, or names no assignment. It is kept as a dead letter."""


@transaction.atomic
def receive_message(envelope: Envelope, sender: Sender) -> bool:
    """Apply an answer or a status; return False if it was applied before. Raises UnknownMessage."""
    if not inbox.take(sender.inbox_source(envelope), envelope.id):
        return False
    data = envelope.data
    resource_id = _text(data, "id" if envelope.type.startswith(_STATUS) else "resource_id")
    try:
        loaded = storage.lock_resource(resource_id, answers=True)
    except UnknownResource as error:
        raise UnknownMessage(error.detail) from error
    answer = read_answer(envelope, loaded.resource.service_type)
    assignment = find_assignment(loaded.resource, sender, data, answer)
    if assignment is None:
        raise UnknownMessage(f"The sender never had the resource {resource_id!r}.")
    change = receive(loaded.resource, assignment.epoch, answer, now=loaded.now)
    storage.save(loaded, change, actor=f"agent:{assignment.agent.name}"[:63])
    return True


def find_assignment(
    resource: Resource, sender: Sender, data: Mapping[str, Any], answer: Answer
) -> Assignment | None:
    """Return the assignment that a message is about: by its epoch, or else the sender's last one."""
    of_sender = [
        attempt
        for attempt in resource.assignments
        if (
            sender.agent_id == attempt.agent.id
            if sender.agent_id
            else data.get("agent_name") == attempt.agent.name
        )
    ]
    if answer.type is AnswerType.STATUS and not of_sender and sender.agent_id is None:
        of_sender = _of_unnamed_provider(resource, answer)
    epoch = data.get("epoch")
    by_epoch = [attempt for attempt in of_sender if attempt.epoch == epoch]
    matching = by_epoch or of_sender
    return matching[-1] if matching else None


def _of_unnamed_provider(resource: Resource, answer: Answer) -> list[Assignment]:
    """Return what a status may be about that names no agent: as a rule the last assignment.

    What is gone is rather that of which an agent accepted the deletion.
    """
    accepted = [
        attempt
        for attempt in resource.assignments
        if attempt.state is AssignmentState.WITHDRAWN and attempt.deletion_accepted_at is not None
    ]
    is_gone = answer.status_class is StatusClass.GONE
    return accepted if is_gone and accepted else list(resource.assignments)


def read_answer(envelope: Envelope, service_type: str) -> Answer:
    """Return the message in our words. Raises UnknownMessage."""
    data = envelope.data
    if envelope.type.startswith(_STATUS):
        status = _text(data, "status")
        output = data.get("output_spec")
        return Answer(
            AnswerType.STATUS,
            _text(data, "message"),
            status=status,
            status_class=classify_status(service_type, status, service_profiles()),
            output=output if isinstance(output, dict) else None,
            at=envelope.time or read_time(data.get("timestamp")),
            event_id=envelope.id,
        )
    try:
        answer_type = AnswerType(envelope.type)
    except ValueError as error:
        raise UnknownMessage(f"{envelope.type[:80]!r} is no answer.") from error
    text = ": ".join(filter(None, (_text(data, "error") or _text(data, "reason"), _text(data, "details"))))
    completed = _text(data, "status").upper() == _DELETED
    return Answer(answer_type, text, completed=completed, event_id=envelope.id)


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value[:2000] if isinstance(value, str) else ""
