"""Logins of agents at a real NATS: who is admitted, to which subjects, and how soon a revoked one is out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from django.conf import settings

from controlplane.access import principals
from controlplane.access.models import Principal, PrincipalKind
from controlplane.ids import uuid7
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ToPublish
from registry import lifecycle
from registry.agents.models import Agent
from registry.dispatch.nats_logins.issue import revoke_login
from registry.dispatch.nats_logins.models import NatsLogin, NatsSession
from tests.integration.registry.dispatch.nats_logins.desk import (
    ACTOR,
    ANSWERS,
    REQUESTS,
    SECONDS,
    Connected,
    admitted_in_the_end,
    connected,
    in_thread,
    is_admitted,
    make_agent,
    password_of,
    running_desk,
)
from tests.support.waiting import until

committed = pytest.mark.django_db(transaction=True)


def empty_streams(connection: NatsConnection) -> None:
    for stream in (REQUESTS, ANSWERS):
        connection.delete_stream(stream.name)
        connection.ensure_stream(stream)


@pytest.fixture
def desk(db: None) -> Iterator[NatsConnection]:
    with running_desk() as connection:
        empty_streams(connection)
        yield connection


@committed
def test_an_agent_is_approved_fetches_and_answers(desk: NatsConnection) -> None:
    agent = make_agent("alpha")
    password = password_of(agent)
    desk.publish([ToPublish("dcm.agent.alpha", b"create", "m1")], timeout=30)

    async def work() -> tuple[bytes, str]:
        async with connected(agent, password) as mine:
            stream = mine.client.jetstream()
            pull = await stream.pull_subscribe("dcm.agent.alpha", "alpha-consumer", REQUESTS.name)
            (message,) = await pull.fetch(1, timeout=30)
            await message.ack_sync(timeout=30)
            stored = await stream.publish(f"dcm.agents.{agent.id}.responses", b"done")
            assert mine.problems == []
            return message.data, stored.stream

    assert asyncio.run(work()) == (b"create", ANSWERS.name)
    names = {facts.name: facts.filter_subject for facts in desk.consumers(REQUESTS.name)}
    assert names == {"alpha-consumer": "dcm.agent.alpha", "alpha-cancel-consumer": "dcm.agent.alpha.cancel"}
    assert desk.consumers(REQUESTS.name)[0].ack_pending == 0

    agent = make_agent("waiting", state="registered")
    password = password_of(agent)
    assert not asyncio.run(is_admitted(agent, password))
    lifecycle.approve(agent.id, actor=ACTOR)
    asyncio.run(admitted_in_the_end(agent, password))


@committed
def test_who_is_refused(desk: NatsConnection) -> None:
    principal = principals.create_principal("agent.x", kind=PrincipalKind.AGENT, actor=ACTOR)
    agent, other = make_agent("alpha", registered_by=principal.id), make_agent("beta")
    former, others = password_of(agent), password_of(other)
    password = password_of(agent)

    def admitted(attempt: str, user: str = "") -> bool:
        return asyncio.run(is_admitted(agent, attempt, user=user))

    assert [admitted(wrong) for wrong in (password[:-1], "", former, others)] == [False] * 4
    assert not admitted(password, user="beta")
    assert NatsSession.objects.count() == 0
    assert admitted(password, user="alpha")
    Agent.objects.filter(id=agent.id).update(state="retired")
    assert not admitted(password)
    Agent.objects.filter(id=agent.id).update(state="ready", topic_name="dcm.agent.a-cancel")
    assert not admitted(password)
    Agent.objects.filter(id=agent.id).update(topic_name="dcm.agent.alpha")
    assert admitted(password)
    disable("agent.x")
    assert not admitted(password)


def disable(name: str) -> None:
    Principal.objects.filter(name=name).update(is_active=False)


def take_over(agent: Agent) -> None:
    successor = principals.create_principal("agent.successor", kind=PrincipalKind.AGENT, actor=ACTOR)
    Agent.objects.filter(id=agent.id).update(registered_by=successor.id)


ENDINGS: dict[str, Callable[[Agent], Any]] = {
    "revoked": lambda agent: revoke_login(agent, actor=ACTOR),
    "rotated": password_of,
    "retired": lambda agent: Agent.objects.filter(id=agent.id).update(state="retired"),
    "removed": lambda agent: Agent.objects.filter(id=agent.id).delete(),
    "disabled": lambda agent: disable("agent.disabled"),
    "taken-over": take_over,
    "moved": lambda agent: Agent.objects.filter(id=agent.id).update(topic_name="dcm.agent.new"),
}


@committed
def test_connections_end_with_the_right_to_them(desk: NatsConnection) -> None:
    agents, passwords = {}, {}
    for name in (*ENDINGS, "untouched"):
        principal = principals.create_principal(f"agent.{name}", kind=PrincipalKind.AGENT, actor=ACTOR)
        agents[name] = make_agent(name, registered_by=principal.id)
        passwords[name] = password_of(agents[name])

    async def work() -> list[str]:
        async with AsyncExitStack() as stack:
            open_ones = {
                name: await stack.enter_async_context(connected(agents[name], passwords[name]))
                for name in agents
            }
            for name, end in ENDINGS.items():
                await in_thread(end)(agents[name])
            for name in ENDINGS:
                await asyncio.wait_for(open_ones[name].ended.wait(), SECONDS)
            await open_ones["untouched"].client.flush()
            return [name for name, one in open_ones.items() if not one.ended.is_set()]

    assert asyncio.run(work()) == ["untouched"]
    again = {name for name in agents if asyncio.run(is_admitted(agents[name], passwords[name]))}
    # It logs in again, to the subjects of its new topic.
    assert again == {"untouched", "moved"}


@committed
def test_nats_refuses_what_is_not_the_agents(desk: NatsConnection) -> None:
    """Other subjects, other consumers, other inboxes and the administration of streams."""
    agent, other = make_agent("alpha"), make_agent("beta")
    password, others_password = password_of(agent), password_of(other)
    consumer = {
        "stream_name": REQUESTS.name,
        "config": {"durable_name": "alpha-consumer", "deliver_subject": f"dcm.agents.{other.id}.responses"},
    }
    push = json.dumps(consumer).encode()
    foreign = {
        f"dcm.agents.{other.id}.responses": b"x",
        "dcm.agents.responses": b"x",
        "dcm.agents.health": b"x",
        "dcm.container": b"x",
        "dcm.agent.beta": b"x",
        "dcm.agent.alpha": b"x",
        "$JS.API.CONSUMER.MSG.NEXT.dcm-agent-requests.beta-consumer": b"1",
        "$JS.API.CONSUMER.INFO.dcm-agent-requests.beta-consumer": b"",
        "$JS.ACK.dcm-agent-requests.beta-consumer.1.1.1.1.0": b"+ACK",
        "$JS.API.CONSUMER.CREATE.dcm-agent-requests.alpha-consumer.dcm.agent.alpha": push,
        "$JS.API.CONSUMER.DURABLE.CREATE.dcm-agent-requests.alpha-consumer": push,
        "$JS.API.STREAM.INFO.dcm-agent-requests": b"",
        "$JS.API.STREAM.DELETE.dcm-agent-requests": b"",
        "$JS.API.STREAM.CREATE.mine": b"{}",
        "$SYS.REQ.USER.AUTH": b"x",
        "$SYS.REQ.SERVER.X.KICK": b"{}",
        f"_INBOX_{other.id}.1": b"x",
    }

    async def work() -> list[str]:
        async with connected(agent, password) as mine, connected(other, others_password):
            admitted = [s for s, body in foreign.items() if not await mine.refused(s, body, "_INBOX_x")]
            for subject in (f"_INBOX_{other.id}.>", ">", "_INBOX.>", "dcm.agent.>", "$SYS.>", "$JS.API.>"):
                before = len(mine.problems)
                await mine.client.subscribe(subject)
                await mine.client.flush()
                await asyncio.sleep(0.02)
                admitted += [] if len(mine.problems) > before else [subject]
            return admitted

    assert asyncio.run(work()) == []


@committed
def test_responses_cannot_be_pointed_at_what_is_not_the_agents(desk: NatsConnection) -> None:
    """A request names the subject of its response. NATS itself publishes there, with all its rights."""
    agent, other = make_agent("alpha"), make_agent("beta")
    password, others_password = password_of(agent), password_of(other)
    fetch = f"$JS.API.CONSUMER.MSG.NEXT.{REQUESTS.name}.alpha-consumer"
    inquire = f"$JS.API.CONSUMER.INFO.{REQUESTS.name}.alpha-consumer"
    targets = (
        f"dcm.agents.{other.id}.responses",
        "dcm.agents.responses",
        "$JS.API.STREAM.PURGE.dcm-agent-responses",
        "$JS.API.STREAM.DELETE.dcm-agent-responses",
        f"$JS.API.CONSUMER.MSG.NEXT.{REQUESTS.name}.beta-consumer",
        "dcm.agent.beta",
    )

    async def work() -> None:
        async with connected(agent, password) as mine, connected(other, others_password):
            for target in targets:
                await in_thread(desk.publish)([ToPublish("dcm.agent.alpha", b"", target)], timeout=30)
                for subject, body in ((fetch, b"1"), (inquire, b""), (fetch, b'{"no_wait":true,"batch":9}')):
                    await mine.client.publish(subject, body, reply=target)
                await mine.client.publish(f"dcm.agents.{agent.id}.responses", b"mine", reply=target)
                await mine.client.flush()

    desk.publish([ToPublish("dcm.agents.responses", b"kept", "r1")], timeout=30)
    desk.publish([ToPublish("dcm.agent.beta", b"not for alpha", "b1")], timeout=30)
    asyncio.run(work())

    # NATS stores what was published some time after it has read it.
    until(lambda: desk.ensure_stream(ANSWERS).last_sequence > len(targets))
    facts = desk.ensure_stream(ANSWERS)
    stored = [desk.message(ANSWERS.name, number) for number in range(1, facts.last_sequence + 1)]
    senders = [(message.subject, message.body) for message in stored if message]
    own = (f"dcm.agents.{agent.id}.responses", b"mine")
    assert senders == [("dcm.agents.responses", b"kept"), *[own] * len(targets)]
    beta = {one.name: one for one in desk.consumers(REQUESTS.name)}["beta-consumer"]
    assert (beta.pending, beta.ack_pending) == (1, 0)


@committed
def test_connections_are_few_and_end_and_consumers_return(desk, monkeypatch, settings) -> None:
    monkeypatch.setattr("registry.dispatch.nats_logins.ending.MOST_SESSIONS", 1)
    agent = make_agent("alpha")
    password = password_of(agent)

    async def work() -> bool:
        async with connected(agent, password) as first, connected(agent, password) as second:
            await asyncio.wait_for(first.ended.wait(), SECONDS)
            return second.ended.is_set()

    assert asyncio.run(work()) is False

    settings.NATS_LOGIN_SECONDS = 4

    async def expire() -> None:
        async with connected(agent, password) as mine:
            # As when NATS has lost its streams.
            await in_thread(desk.delete_consumer)(REQUESTS.name, "alpha-consumer")
            await in_thread(NatsLogin.objects.update)(prepared_at=None)
            await asyncio.wait_for(mine.ended.wait(), 2 * SECONDS)

    asyncio.run(expire())
    until(lambda: len(desk.consumers(REQUESTS.name)) == 2, SECONDS)


def test_the_user_of_dcm_is_not_everything() -> None:
    """The shared user of unmodified DCM agents creates its consumers, and no user of ours."""

    async def work() -> list[str]:
        shared = Connected(uuid7())
        client = shared.client
        await client.connect(_dcm_url(), inbox_prefix=b"_INBOX", error_cb=shared._note, allow_reconnect=False)
        stream = client.jetstream()
        await stream.add_stream(name="gamma-retry", subjects=["gamma.retry"])
        await stream.pull_subscribe("dcm.agent.gamma", "gamma-consumer", REQUESTS.name)
        await stream.publish("dcm.agents.responses", b"{}")
        refused = [
            subject
            for subject in (
                "$JS.API.STREAM.DELETE.dcm-agent-requests",
                "$JS.API.STREAM.UPDATE.dcm-agent-requests",
                "$JS.API.STREAM.PURGE.dcm-agent-requests",
                "$JS.API.STREAM.UPDATE.cp-events",
                "$JS.API.CONSUMER.CREATE.cp-events",
                *(f"$JS.API.CONSUMER.{call}.cp-events.spy" for call in ("CREATE", "MSG.NEXT")),
                "$SYS.REQ.USER.AUTH",
                "dcm.agents.019a9f5e-7c00-7000-8000-000000000001.responses",
                "dcm.agent.gamma",
            )
            if not await shared.refused(subject, b"{}")
        ]
        await client.close()
        return refused

    with NatsConnection(settings.NATS_URL, name="tests") as connection:
        empty_streams(connection)
        assert asyncio.run(work()) == []
        connection.delete_stream("gamma-retry")


def _dcm_url() -> str:
    return f"nats://dcm:{settings.NATS_DCM_PASSWORD}@" + settings.NATS_URL.rpartition("@")[2]
