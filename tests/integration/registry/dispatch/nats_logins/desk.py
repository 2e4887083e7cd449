"""The control plane's side of logins at NATS for tests: both loops in threads, and agents that connect."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar
from uuid import UUID

import nats
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections
from django.db.models.functions import Now
from nats.aio.client import Client
from nats.errors import Error as NatsError

from controlplane.identity.actors import Actor
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import StreamSpec
from registry.agents.models import Agent, Lease
from registry.dispatch.nats_logins.answering import answer_logins
from registry.dispatch.nats_logins.ending import end_sessions
from registry.dispatch.nats_logins.issue import issue_login

T = TypeVar("T")
ACTOR = Actor(None, "tests")
# On a busy machine; how long it takes on a quiet one, the nightly lane "nats_logins" shows.
SECONDS = 30
REQUESTS = StreamSpec("dcm-agent-requests", ("dcm.agent.>",), "workqueue")
ANSWERS = StreamSpec("dcm-agent-responses", ("dcm.agents.responses", "dcm.agents.*.responses"), "workqueue")


def address() -> str:
    return "nats://" + settings.NATS_URL.rpartition("@")[2]


@contextlib.contextmanager
def running_desk() -> Iterator[NatsConnection]:
    """Answer logins and end sessions, as two threads of a relay do."""
    stopping = threading.Event()
    with NatsConnection(settings.NATS_URL, name="logins") as connection:
        loops = [
            threading.Thread(target=loop, args=(connection, stopping))
            for loop in (answer_logins, end_sessions)
        ]
        for thread in loops:
            thread.start()
        connection.wait_connected(5)
        try:
            yield connection
        finally:
            stopping.set()
            for thread in loops:
                thread.join(60)


def make_agent(name: str, state: str = "ready", **more: Any) -> Agent:
    agent = Agent.objects.create(
        **{
            "name": name,
            "environment": "prod",
            "service_types": ["container"],
            "cost": "low",
            "topic_name": f"dcm.agent.{name}",
            "state": state,
            **more,
        }
    )
    Lease.objects.create(agent=agent, renewed_at=Now(), expires_at=Now())
    return agent


def password_of(agent: Agent) -> str:
    return issue_login(agent, actor=ACTOR)


def in_thread(work: Callable[..., T]) -> Callable[..., Awaitable[T]]:
    """Let a coroutine call what uses the database, and leave no connection behind."""

    def run(*arguments: Any, **named: Any) -> T:
        try:
            return work(*arguments, **named)
        finally:
            connections.close_all()

    return sync_to_async(run, thread_sensitive=False)


class Connected:
    """An agent's connection, with the errors that NATS reported."""

    def __init__(self, agent_id: UUID) -> None:
        self.agent_id = agent_id
        self.client: Client = Client()
        self.problems: list[str] = []
        self.ended = asyncio.Event()

    async def open(self, user: str, password: str, url: str) -> None:
        await self.client.connect(
            url,
            user=user,
            password=password,
            inbox_prefix=f"_INBOX_{self.agent_id}".encode(),
            allow_reconnect=False,
            connect_timeout=8,
            error_cb=self._note,
            closed_cb=self._end,
        )

    async def refused(self, subject: str, body: bytes = b"", reply: str = "") -> bool:
        """Publish; return whether NATS refused it."""
        before = len(self.problems)
        await self.client.publish(subject, body, reply=reply)
        await self.client.flush()
        for _ in range(50):
            if len(self.problems) > before:
                return True
            await asyncio.sleep(0.002)
        return False

    async def _note(self, error: Exception) -> None:
        self.problems.append(str(error))

    async def _end(self) -> None:
        self.ended.set()


@contextlib.asynccontextmanager
async def connected(agent: Agent, password: str, url: str = "", user: str = "") -> AsyncIterator[Connected]:
    connection = Connected(agent.id)
    await connection.open(user or str(agent.id), password, url or address())
    try:
        yield connection
    finally:
        await connection.client.close()


async def is_admitted(agent: Agent, password: str, url: str = "", user: str = "") -> bool:
    """Whether NATS accepts the login."""
    try:
        async with connected(agent, password, url, user) as connection:
            # `connect` also returns if the server ends the connection at a certain moment.
            return bool(connection.client.is_connected)
    except (NatsError, OSError, TimeoutError, nats.errors.NoServersError):
        return False


async def admitted_in_the_end(agent: Agent, password: str) -> None:
    """Log in as an agent does: again and again, until NATS accepts it."""
    deadline = time.monotonic() + SECONDS
    while not await is_admitted(agent, password):
        assert time.monotonic() < deadline, "NATS never accepted the login."
        await asyncio.sleep(0.1)
