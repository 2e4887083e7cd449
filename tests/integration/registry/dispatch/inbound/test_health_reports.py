"""Reports of weak service types: they count for a while, and until the agent registers again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db.models import F

from controlplane.database.clock import statement_now
from controlplane.messaging.models import DeadLetter
from controlplane.messaging.nats import NatsConnection
from registry.agents.models import Lease
from registry.dispatch.inbound.consuming import consume_answers, consume_health
from registry.dispatch.inbound.health_reports import MARK_LASTS, current_weak_types
from registry.dispatch.models import AgentMessaging
from tests.support.agents_over_nats import OF_AGENTS, event, make_agent, publish, running
from tests.support.waiting import until

SUBJECT = "dcm.agents.health"
AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


def report(name: str, kind: str, service_type: str = "container", source: str = "", number: int = 1) -> bytes:
    """A report as DCM's agent writes it: `agent_id` is its name."""
    names = {"agent_id": name, "agent_name": name, "topic_name": f"dcm.agent.{name}"}
    data = {**names, "service_type": service_type, "reason": "no answer", "affected_provider": "p"}
    return event(f"h{number}", source or f"dcm/agents/{name}", f"dcm.agent.health.service-type-{kind}", data)


def marks(name: str) -> dict[str, str]:
    row = AgentMessaging.objects.get(agent__name=name)
    generation = Lease.objects.get(agent__name=name).generation
    weak = current_weak_types(row.weak_types, generation=generation, now=statement_now())
    return {service_type: health.value for service_type, health in weak.items()}


def test_a_weak_type_is_marked_until_the_agent_registers_again(nats: NatsConnection) -> None:
    make_agent("alpha")
    publish(nats, SUBJECT, report("alpha", "degraded"))

    with running(nats, consume_health):
        until(lambda: marks("alpha") == {"container": "unhealthy"})
        publish(nats, SUBJECT, report("alpha", "unavailable", number=2))
        until(lambda: marks("alpha") == {"container": "unavailable"})

    mark = AgentMessaging.objects.get().weak_types["container"]
    assert (mark["reason"], mark["provider"]) == ("no answer", "p")
    Lease.objects.update(generation=F("generation") + 1)
    assert marks("alpha") == {}


def test_an_agent_with_an_identity_of_its_own_reports_as_it_answers(nats: NatsConnection) -> None:
    own, other = make_agent("own", registered_by=uuid4()), make_agent("other", registered_by=uuid4())
    publish(nats, f"dcm.agents.{other.id}.responses", report("own", "unavailable"))
    publish(nats, f"dcm.agents.{own.id}.responses", report("own", "degraded"))

    with running(nats, consume_answers):
        until(lambda: marks("own") == {"container": "unhealthy"})
        letter = until(DeadLetter.objects.first)

    assert letter.reason == "It is about another agent than its sender."


def test_a_mark_ends_by_itself() -> None:
    until_then = {"status": "unavailable", "until": (AT + MARK_LASTS).isoformat(), "generation": 1}

    def weak(after: timedelta, generation: int = 1) -> list[str]:
        return list(current_weak_types({"vm": until_then}, generation=generation, now=AT + after))

    assert weak(MARK_LASTS - timedelta(seconds=1)) == ["vm"]
    assert weak(MARK_LASTS) == []
    assert weak(timedelta(0), generation=2) == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (report("own", "unavailable"), "has an identity of its own"),
        (report("nobody", "unavailable"), "There is no agent 'nobody'."),
        (report("alpha", "unavailable", source="dcm/agents/own"), "is no report of health"),
        (report("alpha", "unavailable", "vm"), "The agent does not offer 'vm'."),
    ],
)
def test_nobody_reports_for_another_agent(nats: NatsConnection, body: bytes, reason: str) -> None:
    make_agent("alpha")
    make_agent("own", registered_by=uuid4())
    publish(nats, SUBJECT, body)

    with running(nats, consume_health):
        letter = until(DeadLetter.objects.first)

    assert reason in letter.reason
    assert (marks("alpha"), marks("own")) == ({}, {})


def test_the_loop_runs_without_the_stream_and_finds_it_later(nats: NatsConnection) -> None:
    make_agent("alpha")
    nats.delete_stream("dcm-health")

    with running(nats, consume_health):
        until(lambda: not nats.consumers("dcm-health"))
        nats.ensure_stream(OF_AGENTS)
        publish(nats, SUBJECT, report("alpha", "unavailable"))
        until(lambda: marks("alpha") == {"container": "unavailable"})
