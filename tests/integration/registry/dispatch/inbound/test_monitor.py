"""Consumers of agents in a real NATS: who receives, who is congested, and what is left of retired agents."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from django.conf import settings
from django.db import connection

from controlplane.identity.actors import Actor
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ConsumerSpec, StreamSpec
from controlplane.messaging.streams import REQUESTS
from registry.agents.models import Agent
from registry.dispatch.delivery.monitor import Reading, is_congested, measure, watch_consumers, write_readings
from registry.dispatch.models import AgentMessaging, AssignmentRow
from registry.dispatch.resources.requests import ResourceRequest, create_resource
from registry.lifecycle import deregister, remove
from tests.support.agents_over_nats import make_agent, publish, running
from tests.support.api_client import Api, token_for
from tests.support.waiting import until

ACTOR = Actor(None, "admin")


def consumers_of(agent: Agent) -> tuple[ConsumerSpec, ConsumerSpec]:
    """The two consumers that an agent creates for itself."""
    base, topic = agent.topic_name.removeprefix("dcm.agent."), agent.topic_name
    return (
        ConsumerSpec(REQUESTS, f"{base}-consumer", (topic,), ack_wait_seconds=120),
        ConsumerSpec(REQUESTS, f"{base}-cancel-consumer", (f"{topic}.cancel",), ack_wait_seconds=10),
    )


def connect(nats: NatsConnection, agent: Agent) -> ConsumerSpec:
    main, cancels = consumers_of(agent)
    nats.ensure_consumer(main)
    nats.ensure_consumer(cancels)
    retry_of(nats, agent)
    return main


def messaging_of(agent: Agent) -> AgentMessaging:
    return AgentMessaging.objects.get(agent=agent)


def conditions_of(agent: Agent) -> dict[str, str]:
    shown = Api(token_for("viewer")).get(f"agents/{agent.id}").json()["conditions"]
    return {one["type"]: one["status"] for one in shown if one["type"] != "ClockSynced"}


def test_congestion_is_measured_and_ends_below_half_of_the_threshold(nats, monkeypatch):
    monkeypatch.setattr(settings, "CONGESTION_LAG", 4)
    agent, deaf = make_agent("alpha"), make_agent("deaf")
    consumer = connect(nats, agent)
    publish(nats, agent.topic_name, b"1", b"2", b"3")

    with running(nats, watch_consumers, watch_consumers):
        row = until(lambda: AgentMessaging.objects.filter(agent=agent, pending_count=3).first())
        assert (row.has_consumer, row.is_congested) == (True, False)
        until(lambda: not messaging_of(deaf).has_consumer)
        expected = ({"Listening": "false"}, {"MessagingReady": "false"})
        assert (conditions_of(agent), conditions_of(deaf)) == expected

        publish(nats, agent.topic_name, b"4")
        until(lambda: messaging_of(agent).is_congested)
        assert conditions_of(agent) == {"Congested": "true"}
        taken = nats.fetch(consumer, limit=2, seconds=1)
        # Unacknowledged messages count: an agent does not get rid of its queue by taking it.
        until(lambda: messaging_of(agent).unacknowledged_count == 2)
        assert messaging_of(agent).is_congested
        for message in taken:
            message.ack()
        until(lambda: messaging_of(agent).unacknowledged_count == 0)
        assert messaging_of(agent).is_congested
        nats.fetch(consumer, limit=1, seconds=1)[0].ack()
        until(lambda: not messaging_of(agent).is_congested)
    # An agent that says nothing of its queue is measured all the same.
    assert Agent.objects.get(id=agent.id).lease.consumer_lag == 0


def test_an_agent_listens_while_it_waits_for_requests(nats):
    agent, absent = make_agent("alpha"), make_agent("absent")
    consumer = connect(nats, agent)
    connect(nats, absent)

    with ThreadPoolExecutor(1) as pool, running(nats, watch_consumers):
        waiting = pool.submit(nats.fetch, consumer, limit=1, seconds=30)
        until(lambda: messaging_of(agent).is_listening)
        assert messaging_of(absent).is_listening is False
        # Nothing waits for the absent one, so that nothing is wrong yet.
        assert (conditions_of(agent), conditions_of(absent)) == ({}, {})

        publish(nats, agent.topic_name, b"1")
        (message,) = waiting.result()
        until(lambda: messaging_of(agent).is_listening is False)
        # It handles a request.
        assert conditions_of(agent) == {}
        message.ack()


def test_the_statement_decides_as_the_rule(db):
    agents = [make_agent(f"a{number}") for number in range(14)]
    AgentMessaging.objects.filter(agent__in=agents[7:]).update(is_congested=True)
    lags = [0, 1, 4, 5, 9, 10, 11] * 2
    was = [messaging_of(agent).is_congested for agent in agents]

    write_readings(
        [
            Reading(agent.topic_name, lag, 0, is_listening=False)
            for agent, lag in zip(agents, lags, strict=True)
        ],
        threshold=10,
    )

    for agent, lag, before in zip(agents, lags, was, strict=True):
        expected = is_congested(lag, was_congested=before, threshold=10)
        assert messaging_of(agent).is_congested == expected, (lag, before)


def test_only_rows_that_differ_are_written(db):
    agents = [make_agent(f"a{number}") for number in range(3)]
    AgentMessaging.objects.filter(agent=agents[2]).delete()
    measured = [Reading(agent.topic_name, 1, 0, is_listening=False) for agent in agents]

    assert write_readings(measured, threshold=10) == 3
    assert write_readings(measured, threshold=10) == 0
    assert write_readings(measured[:2], threshold=10) == 1
    assert not messaging_of(agents[2]).has_consumer


@pytest.mark.parametrize("removed", [False, True])
def test_nothing_stays_of_an_agent_that_left(nats, removed):
    staying, leaving = make_agent("staying"), make_agent("leaving")
    for agent in (staying, leaving):
        connect(nats, agent)
    held = {agent: retry_of(nats, agent) for agent in (staying, leaving)}
    create_resource(ResourceRequest("web", "container", {}), actor=ACTOR)
    AssignmentRow.objects.update(agent_id=leaving.id, agent_name="leaving", topic=leaving.topic_name)
    publish(nats, leaving.topic_name, b"a request")
    publish(nats, f"{leaving.topic_name}.cancel", b"a cancel")
    publish(nats, staying.topic_name, b"a request")

    deregister(leaving.id, actor=ACTOR, force=True)
    gone = leaving.id
    if removed:
        remove(gone, force=True, actor=ACTOR)
    # Its request waits for the agent until the timers give it to another one.
    measure(nats, purges=True)
    assert names(nats) == {*names_of(staying), *names_of(leaving)}

    AssignmentRow.objects.update(state="abandoned")
    measure(nats, purges=True)
    connection.close()

    assert names(nats) == names_of(staying)
    assert [nats.message(REQUESTS, number) is None for number in (1, 2, 3)] == [True, True, False]
    assert {agent.name: retry_of(nats, agent) > since for agent, since in held.items()} == {
        "staying": False,
        "leaving": True,
    }
    for agent in held:
        nats.delete_stream(f"{agent.name}-retry")


def retry_of(nats: NatsConnection, agent: Agent) -> datetime:
    """When the stream of held requests was created, which is now if it was deleted."""
    return nats.ensure_stream(
        StreamSpec(f"{agent.name}-retry", (f"{agent.name}.retry",), "limits")
    ).created_at


def names(nats: NatsConnection) -> set[str]:
    return {one.name for one in nats.consumers(REQUESTS)}


def names_of(agent: Agent) -> set[str]:
    return {spec.name for spec in consumers_of(agent)}


def test_agents_that_may_return_and_agents_that_nobody_knows_keep_their_consumers(nats):
    silent = make_agent("silent", state="retired", retired_for_silence=True)
    stranger = Agent(name="stranger", topic_name="dcm.agent.stranger")
    for agent in (silent, stranger):
        connect(nats, agent)
    nats.ensure_consumer(ConsumerSpec(REQUESTS, "somebody", ("dcm.agent.gone",)))

    measure(nats, purges=True)
    connection.close()

    assert names(nats) == {*names_of(silent), *names_of(stranger), "somebody"}
    for agent in (silent, stranger):
        nats.delete_stream(f"{agent.name}-retry")
