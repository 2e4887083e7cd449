"""A request never gets a connection that Postgres has closed, and rarely asks Postgres whether it has."""

from __future__ import annotations

import psycopg
import pytest
from django.db import close_old_connections, connection
from django.test.utils import CaptureQueriesContext

from controlplane.database.engine.base import DatabaseWrapper

pytestmark = pytest.mark.django_db(transaction=True)


def begin_request() -> int:
    """Begin a request as Django does; return the process of its connection."""
    close_old_connections()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def end_connection(pid: int) -> None:
    with psycopg.connect(
        connection.connection.info.dsn, password=connection.connection.info.password, autocommit=True
    ) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
        while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone():
            pass


@pytest.fixture
def checks(monkeypatch):
    """The number of times that Postgres was asked."""
    asked = []
    ask = DatabaseWrapper.is_usable
    monkeypatch.setattr(DatabaseWrapper, "is_usable", lambda self: asked.append(1) or ask(self))
    return asked


def test_postgres_is_asked_once_for_many_requests(checks, monkeypatch):
    monkeypatch.setattr("controlplane.database.engine.base._CHECK_SECONDS", 3600)

    pids = {begin_request() for _ in range(5)}

    assert len(pids) == 1
    assert len(checks) <= 1


def test_a_closed_connection_is_replaced_before_the_first_statement(checks, monkeypatch):
    monkeypatch.setattr("controlplane.database.engine.base._CHECK_SECONDS", 3600)
    begin_request()
    pid = begin_request()
    end_connection(pid)

    with CaptureQueriesContext(connection):
        assert begin_request() != pid


def test_an_idle_connection_is_asked_again(checks, monkeypatch):
    monkeypatch.setattr("controlplane.database.engine.base._CHECK_SECONDS", -1)

    begin_request()
    begin_request()

    assert len(checks) >= 1
