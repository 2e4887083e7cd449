"""Logins at NATS while the control plane's processes or Postgres are away."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from registry.dispatch.nats_logins.issue import revoke_login
from registry.dispatch.nats_logins.models import NatsSession
from tests.integration.registry.dispatch.nats_logins.desk import (
    ACTOR,
    REQUESTS,
    SECONDS,
    Connected,
    address,
    admitted_in_the_end,
    in_thread,
    is_admitted,
    make_agent,
    password_of,
    running_desk,
)
from tests.support.waiting import until


class PostgresAway:
    """The test database refuses all connections, and those that are open end."""

    def __enter__(self) -> None:
        self._allow("false")
        self._execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [settings.DATABASES["default"]["NAME"]],
        )

    def __exit__(self, *exception: object) -> None:
        self._allow("true")
        connection.close()

    def _allow(self, allowed: str) -> None:
        name = connection.ops.quote_name(settings.DATABASES["default"]["NAME"])
        self._execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}", [])

    def _execute(self, statement: str, values: list[str]) -> None:
        url = os.environ["DATABASE_URL"].replace("@/controlplane?", "@/postgres?")
        with psycopg.connect(url, autocommit=True) as outside:
            outside.execute(statement, values)


@pytest.mark.django_db(transaction=True)
def test_connections_outlive_the_control_plane_and_logins_wait_for_it() -> None:
    """One of two processes stops, then the other one, and one comes back. Meanwhile, a login is revoked."""
    agent, revoked = make_agent("alpha"), make_agent("beta")
    password, revoked_password = password_of(agent), password_of(revoked)

    async def work() -> None:
        with ExitStack() as desks:
            first = desks.enter_context(running_desk())
            first.ensure_stream(REQUESTS)
            with running_desk():
                assert await is_admitted(agent, password)
            mine, other = Connected(agent.id), Connected(revoked.id)
            await mine.open(str(agent.id), password, address())
            await other.open(str(revoked.id), revoked_password, address())
            await in_thread(desks.close)()
        await in_thread(revoke_login)(revoked, actor=ACTOR)
        await mine.client.flush()
        assert not await is_admitted(agent, password)
        with running_desk():
            await admitted_in_the_end(agent, password)
            await asyncio.wait_for(other.ended.wait(), SECONDS)
            assert not mine.ended.is_set()
            await mine.client.close()

    asyncio.run(work())
    assert set(NatsSession.objects.values_list("agent_id", flat=True)) == {agent.id}


@pytest.mark.django_db(transaction=True)
def test_a_login_is_refused_while_postgres_is_away_and_accepted_afterwards() -> None:
    agent = make_agent("alpha")
    password = password_of(agent)
    with running_desk() as nats:
        nats.ensure_stream(REQUESTS)
        assert asyncio.run(is_admitted(agent, password))
        with PostgresAway():
            assert not asyncio.run(is_admitted(agent, password))
        until(lambda: asyncio.run(is_admitted(agent, password)), SECONDS)
