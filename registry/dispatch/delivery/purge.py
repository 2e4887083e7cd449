"""What agents leave behind in NATS: requests nobody will read, consumers, and the streams of held requests.

Derived from the consumers that are still there, so that nothing is forgotten by a crash: a consumer is
deleted last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog
from django.db.models import Q

from controlplane.messaging.failpoints import reach
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ConsumerFacts
from controlplane.messaging.streams import REQUESTS
from registry.agents.models import Agent
from registry.agents.states import State
from registry.dispatch.lifecycle.states import AssignmentState
from registry.dispatch.models import AssignmentRow

log = structlog.get_logger(__name__)
TOPICS = "dcm.agent."
_CANCEL = ".cancel"
_CONSUMERS = {"-cancel-consumer": _CANCEL, "-consumer": ""}
# In these, commands are still being sent: the timers end them once the agent is gone.
_WAITING = (
    AssignmentState.PENDING,
    AssignmentState.QUEUED,
    AssignmentState.WITHDRAWN,
    AssignmentState.STUCK,
)


@dataclass(frozen=True, slots=True)
class Leftover:
    """Consumers of one agent. base: its topic without the prefix."""

    base: str
    consumers: tuple[str, ...]

    @property
    def topic(self) -> str:
        return f"{TOPICS}{self.base}"


def purge_absent_agents(connection: NatsConnection, consumers: Iterable[ConsumerFacts]) -> int:
    """Delete what retired and removed agents left behind; return of how many agents. Idempotent.

    Raises NatsUnavailable.
    """
    candidates = leftovers(consumers)
    absent = _absent(candidates) if candidates else []
    for leftover in absent:
        _purge(connection, leftover)
    return len(absent)


def leftovers(consumers: Iterable[ConsumerFacts]) -> list[Leftover]:
    """Return the consumers that agents create, by agent. Those of anybody else are left alone. Pure."""
    by_base: dict[str, list[str]] = {}
    for consumer in consumers:
        if base := _base_of(consumer):
            by_base.setdefault(base, []).append(consumer.name)
    return [Leftover(base, tuple(names)) for base, names in by_base.items()]


def _base_of(consumer: ConsumerFacts) -> str:
    subject = consumer.filter_subject
    for ending, suffix in _CONSUMERS.items():
        base = consumer.name.removesuffix(ending)
        if base != consumer.name and subject == f"{TOPICS}{base}{suffix}":
            return base
    return ""


def _absent(candidates: Sequence[Leftover]) -> list[Leftover]:
    """Return those of agents that are retired or removed, and have no commands to receive.

    An agent that was retired for silence may still run, and a heartbeat restores it: it keeps its consumers,
    which it would not create again. A removed agent is known by its assignments: without any, it may be one
    that a restored database has forgotten.
    """
    staying = Agent.objects.filter(~Q(state=State.RETIRED) | Q(retired_for_silence=True))
    present = set(staying.values_list("topic_name", flat=True))
    gone = [leftover for leftover in candidates if leftover.topic not in present]
    if not gone:
        return []
    topics = [leftover.topic for leftover in gone]
    retired = Agent.objects.filter(topic_name__in=topics).values_list("topic_name", flat=True)
    assignments = AssignmentRow.objects.filter(topic__in=topics)
    waiting = set(assignments.filter(state__in=_WAITING).values_list("topic", flat=True))
    removable = {*retired, *assignments.values_list("topic", flat=True).distinct()} - waiting
    return [leftover for leftover in gone if leftover.topic in removable]


def _purge(connection: NatsConnection, leftover: Leftover) -> None:
    for subject in (leftover.topic, f"{leftover.topic}{_CANCEL}"):
        connection.purge(REQUESTS, subject)
    reach("purged")
    connection.delete_stream(f"{leftover.base}-retry")
    for name in leftover.consumers:
        connection.delete_consumer(REQUESTS, name)
    log.info("dispatch.agent_purged", topic=leftover.topic)
