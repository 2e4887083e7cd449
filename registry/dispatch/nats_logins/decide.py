"""Whether an agent may log in at NATS, and to which subjects. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from controlplane.messaging.logins.callout import Permissions
from registry.agents.states import State

REQUESTS = "dcm-agent-requests"
_TOPIC = re.compile(r"dcm\.agent\.([A-Za-z0-9_-]+)")
_CANCEL = "-cancel"


class Verdict(StrEnum):
    """The result of a login, as the metric counts it."""

    ACCEPTED = "accepted"
    UNKNOWN = "unknown"
    WAITING = "waiting"
    RETIRED = "retired"
    REVOKED = "revoked"
    BAD_TOPIC = "bad_topic"
    UNAVAILABLE = "unavailable"


# In the log of NATS' server. The client learns only that it was refused.
REASONS = {
    Verdict.UNKNOWN: "unknown user or password",
    Verdict.WAITING: "the agent waits for approval",
    Verdict.RETIRED: "the agent is retired",
    Verdict.REVOKED: "the agent's credential was revoked or belongs to another process",
    Verdict.BAD_TOPIC: "the agent's topic cannot be used with a login",
    Verdict.UNAVAILABLE: "logins cannot be verified now",
}


@dataclass(frozen=True, slots=True)
class LoginFacts:
    """A login and its agent, found by the password. is_current: the agent's principal is the same, active."""

    agent_id: UUID
    name: str
    state: State
    topic: str
    serial: UUID
    is_current: bool
    is_prepared: bool


@dataclass(frozen=True, slots=True)
class Consumers:
    """The two consumers of an agent, and the subjects of their messages."""

    requests: str
    cancels: str
    request_subject: str
    cancel_subject: str


def judge(user: str, facts: LoginFacts | None) -> Verdict:
    """Decide about a login. facts: of the login with this password, if there is one."""
    if facts is None or user not in (str(facts.agent_id), facts.name):
        return Verdict.UNKNOWN
    if not facts.is_current:
        return Verdict.REVOKED
    if facts.state is State.REGISTERED:
        return Verdict.WAITING
    if facts.state is State.RETIRED:
        return Verdict.RETIRED
    return Verdict.ACCEPTED if consumers_of(facts.topic) else Verdict.BAD_TOPIC


def consumers_of(topic: str) -> Consumers | None:
    """Return the names of DCM for an agent's consumers; None if they could be those of another agent.

    The main consumer of `a-cancel` has the same name as the consumer of cancellations of `a`.
    """
    match = _TOPIC.fullmatch(topic)
    if match is None or match[1].endswith(_CANCEL):
        return None
    base = match[1]
    return Consumers(f"{base}-consumer", f"{base}{_CANCEL}-consumer", topic, f"{topic}.cancel")


def response_subject(agent_id: UUID) -> str:
    """Return the subject that only this agent may publish."""
    return f"dcm.agents.{agent_id}.responses"


def inbox_prefix(agent_id: UUID) -> str:
    return f"_INBOX_{agent_id}"


def permissions(agent_id: UUID, consumers: Consumers) -> Permissions:
    """Return what an agent may do: fetch and acknowledge its requests, and answer them."""
    allowed = [response_subject(agent_id)]
    for name in (consumers.requests, consumers.cancels):
        allowed.append(f"$JS.API.CONSUMER.INFO.{REQUESTS}.{name}")
        allowed.append(f"$JS.API.CONSUMER.MSG.NEXT.{REQUESTS}.{name}")
        allowed.append(f"$JS.ACK.{REQUESTS}.{name}.>")
    return Permissions(tuple(allowed), (f"{inbox_prefix(agent_id)}.>",))
