"""Connections to a former primary, and to a server that has gone silent, against real Postgres."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
from django.db import OperationalError, close_old_connections, connection
from prometheus_client import REGISTRY

from controlplane.database import silence
from controlplane.database.prepared_connection import PreparedConnection
from controlplane.database.primary import OldTimeline, Primary, host_of, read_server
from controlplane.database.timelines import Server
from controlplane.web.health import CHECKS, parse_question, passes, readiness
from tests.support.pgbouncer import PgBouncer, is_installed
from tests.support.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def promoted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Primary]:
    """This process has seen another copy of our server on a higher timeline."""
    connection.ensure_connection()
    server = read_server(connection.connection.pgconn)
    known = Primary()
    known.admit(Server(server.system, (server.timeline or 0) + 1), ("other", "5432"))
    for module in ("engine.base", "prepared_connection"):
        monkeypatch.setattr(f"controlplane.database.{module}.primary", known)
    monkeypatch.setattr("controlplane.web.health.primary", known)
    yield known
    monkeypatch.undo()
    connection.close()


def refused() -> float:
    return REGISTRY.get_sample_value("cp_db_former_primary_refused_total") or 0.0


def begin_request() -> None:
    close_old_connections()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def test_our_server_has_a_timeline_and_a_name():
    connection.ensure_connection()
    server = read_server(connection.connection.pgconn)
    assert server.timeline == 1
    assert server.system.isdigit()
    assert host_of(connection.connection.pgconn)[1] == str(connection.connection.info.port)


def test_an_open_connection_to_a_former_primary_is_left_at_the_next_request(promoted):
    before = refused()
    with pytest.raises(OperationalError, match="former primary"):
        begin_request()
    assert promoted.has_refused()
    assert refused() > before


def test_readiness_tells_that_a_former_primary_is_there(promoted):
    with pytest.raises(OperationalError):
        begin_request()
    (check,) = [check for check in CHECKS if check.name == "timeline"]
    answer = readiness(parse_question("verbose"), {check: passes(check)})
    assert (answer.status, answer.body) == (200, b'{"ready": true, "checks": {"timeline": "degraded"}}')


def test_a_fast_path_refuses_a_former_primary(promoted):
    async def run() -> None:
        await PreparedConnection.open(b"SELECT 1", application="test", options="")

    with pytest.raises(OldTimeline):
        asyncio.run(run())


def test_a_fast_path_leaves_its_connection_as_soon_as_another_timeline_is_seen(monkeypatch):
    known = Primary()
    monkeypatch.setattr("controlplane.database.prepared_connection.primary", known)

    async def run() -> None:
        opened = await PreparedConnection.open(b"SELECT 1", application="test", options="")
        try:
            await opened.execute()
            known.admit(Server(opened._server.system, 99), ("other", "5432"))
            with pytest.raises(OldTimeline):
                await opened.execute()
        finally:
            await opened.close()

    asyncio.run(run())


def test_a_standby_that_must_confirm_and_is_missing_degrades_readiness(services):
    (check,) = [check for check in CHECKS if check.name == "standby"]
    assert passes(check)
    with psycopg.connect(services.environment["DATABASE_URL"], autocommit=True) as administrator:
        administrator.execute("SET synchronous_commit = local")
        administrator.execute("ALTER SYSTEM SET synchronous_standby_names = 'missing'")
        administrator.execute("SELECT pg_reload_conf()")
        try:
            until(lambda: not passes(check), 60)
        finally:
            administrator.execute("ALTER SYSTEM RESET synchronous_standby_names")
            administrator.execute("SELECT pg_reload_conf()")
        until(lambda: passes(check), 60)


@pytest.fixture
def by_tcp(services) -> Iterator[psycopg.Connection]:
    """A connection by TCP. The server of the tests has none, so PgBouncer gives it one, and can be frozen."""
    if not is_installed():
        pytest.skip("PgBouncer is not installed")
    pooler = PgBouncer(services.environment["DATABASE_URL"])
    opened = psycopg.connect(pooler.url(), autocommit=True)
    opened.execute("SELECT 1")
    pooler.process.send_signal(signal.SIGSTOP)
    yield opened
    pooler.process.send_signal(signal.SIGCONT)
    opened.close()
    pooler.stop()


def test_a_statement_at_a_frozen_server_fails_and_its_host_is_tried_last(by_tcp, monkeypatch):
    known = Primary()
    monkeypatch.setattr("controlplane.database.silence.primary", known)
    host = host_of(by_tcp.pgconn)
    failed: list[psycopg.Error] = []

    def ask() -> None:
        try:
            by_tcp.execute("SELECT 1")
        except psycopg.Error as error:
            failed.append(error)

    assert not silence.close_if_silent(by_tcp, 0), "It is idle."
    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.5)
    assert not silence.close_if_silent(by_tcp, 30), "It has time."
    assert silence.close_if_silent(by_tcp, 0.3)
    thread.join(5)
    assert isinstance(failed[0], psycopg.OperationalError)
    parameters = {"host": f"{host[0]},b", "port": f"{host[1]},1", "target_session_attrs": "read-write"}
    assert known.ordered(parameters)["host"] == f"b,{host[0]}"


def test_a_connection_without_tcp_and_one_that_is_closed_are_left_alone(services):
    opened = psycopg.connect(services.environment["DATABASE_URL"])
    thread = threading.Thread(target=lambda: opened.execute("SELECT pg_sleep(0.6)"))
    thread.start()
    time.sleep(0.3)
    assert not silence.close_if_silent(opened, 0)
    thread.join()
    opened.close()
    assert not silence.close_if_silent(opened, 0)


def test_the_limit_is_longer_than_those_with_an_answer_and_none_without_them(settings):
    settings.DATABASE_COMMIT_WAIT_SECONDS = 10
    settings.DATABASE_LIMITS = {"statement_timeout": "5000"}
    assert silence.limit_seconds() == 11
    settings.DATABASE_LIMITS = {"statement_timeout": "30000"}
    assert silence.limit_seconds() == 31
    settings.DATABASE_LIMITS = {"statement_timeout": "0"}
    assert silence.limit_seconds() == 0
