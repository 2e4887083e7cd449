"""Through a real PgBouncer in transaction mode: limits, leaders, and what leaks to another client."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO

import psycopg
import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.db import connection, connections

from controlplane.cluster.checks import sessions_have_limits
from controlplane.cluster.leadership import Role, lead
from controlplane.database import roles
from controlplane.database.roles import APPLICATION, WEB
from controlplane.ids import uuid7
from controlplane.local import Services
from tests.support.pgbouncer import PgBouncer, is_installed

pytestmark = pytest.mark.skipif(
    not is_installed(), reason="PgBouncer is not installed here: install the package `pgbouncer`."
)
LIMITS = {"statement_timeout": "4321", "lock_timeout": "1234", "idle_in_transaction_session_timeout": "30000"}


@pytest.fixture(scope="module")
def address(services: Services, django_db_setup: None) -> str:
    name = django_settings.DATABASES["default"]["NAME"]
    return services.environment["DATABASE_URL"].replace("@/controlplane?", f"@/{name}?")


@pytest.fixture(scope="module")
def pooler(address: str) -> Iterator[PgBouncer]:
    """One connection to Postgres for all clients: what one leaves behind, the next one meets."""
    running = PgBouncer(address, pool_size=1)
    yield running
    running.stop()


@pytest.fixture
def limited(address: str) -> Iterator[None]:
    with psycopg.connect(address) as administrator, administrator.cursor() as cursor:
        roles.establish(cursor, passwords={}, limits=LIMITS)
    yield
    with psycopg.connect(address) as administrator:
        for role in APPLICATION:
            name = django_settings.DATABASES["default"]["NAME"]
            administrator.execute(f'ALTER ROLE {role} IN DATABASE "{name}" RESET ALL')


@pytest.fixture
def through(pooler: PgBouncer, limited: None, settings) -> Iterator[None]:
    """Django's connection as the web process has it behind the pooler."""
    settings.DATABASE_POOLER, settings.DATABASE_LIMITS = "transaction", LIMITS
    before = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(HOST="127.0.0.1", PORT=str(pooler.port), USER=WEB, OPTIONS={})
    yield
    connection.close()
    connection.settings_dict.clear()
    connection.settings_dict.update(before)


def client(pooler: PgBouncer, user: str = WEB) -> psycopg.Connection:
    return psycopg.connect(pooler.url(user), autocommit=True)


def shown(session: psycopg.Connection, name: str) -> str:
    return session.execute(f"SHOW {name}").fetchone()[0]


def test_the_pooler_refuses_what_connections_bring_and_the_roles_have_it(pooler, limited):
    with pytest.raises(psycopg.OperationalError, match="unsupported startup parameter"):
        psycopg.connect(pooler.url(WEB), options="-c statement_timeout=5000")
    with client(pooler) as session:
        assert shown(session, "statement_timeout") == "4321ms"
        assert shown(session, "lock_timeout") == "1234ms"


def test_a_limit_of_one_transaction_does_not_reach_another_client(pooler, limited):
    with client(pooler) as one, client(pooler) as other:
        with one.transaction():
            one.execute("SET LOCAL statement_timeout = '777ms'")
        assert shown(other, "statement_timeout") == "4321ms"


@pytest.mark.django_db(transaction=True)
def test_one_process_leads_though_both_share_a_session(through, pooler):
    assert lead(Role.CONSUMER_MONITOR, holder=uuid7()) == 1
    assert lead(Role.CONSUMER_MONITOR, holder=uuid7()) is None
    with client(pooler) as one, client(pooler) as other:
        both = [session.execute("SELECT pg_try_advisory_lock(1)").fetchone()[0] for session in (one, other)]
        one.execute("SELECT pg_advisory_unlock_all()")
    assert both == [True, True], "This is why a lock of a session cannot decide who leads."
    assert lead(Role.BEAT, holder=uuid7(), lease=timedelta(0)) == 1


@pytest.mark.django_db(transaction=True)
def test_the_check_finds_sessions_without_limits(through, settings):
    assert sessions_have_limits(databases=["default"]) == []
    settings.DATABASE_LIMITS = {**LIMITS, "lock_timeout": "2000"}
    (error,) = sessions_have_limits(databases=["default"])
    assert error.msg == f"Sessions of {WEB} lack limits (in ms): lock_timeout is 1234, not 2000."
    assert sessions_have_limits(databases=None) == [], "Without a database nothing is asked."


def test_the_command_compares_needs_with_the_limit(db):
    out = StringIO()
    call_command("connections", "--web=1", "--web-workers=1", "--relays=0", stdout=out)
    assert "allowed" in out.getvalue()
    with pytest.raises(
        CommandError, match=r"Raise max_connections, lower the numbers above, or use a pooler"
    ):
        call_command("connections", "--web=100", stdout=StringIO())
    call_command("connections", "--web=2", "--pool-size=20", stdout=out)
    assert len(connections.all()) == 1
