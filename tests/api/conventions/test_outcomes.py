"""What callers get when Postgres cannot confirm a change, or accepts none."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection, transaction
from django.db.utils import IntegrityError

from controlplane.access.models import AuditRecord
from controlplane.database.commit import OutcomeUnknown
from controlplane.local import Services
from controlplane.pools.models import Pool
from tests.support.flyte_messages import FlyteHttp
from tests.support.waiting import until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        "THROUGH_PGBOUNCER" in os.environ,
        reason="Sets state of its sessions, which PgBouncer would give to the tests after it.",
    ),
]
POOL = {"name": "snowflake", "capacity": 1}
KEY = "6f5a1a52-5a0d-4f1c-9e3c-1f4d1e3c9d3a"


@pytest.fixture
def administrator(services: Services) -> Iterator[psycopg.Connection]:
    with psycopg.connect(services.environment["DATABASE_URL"], autocommit=True) as session:
        yield session


@pytest.fixture
def no_standby(administrator: psycopg.Connection, settings) -> Iterator[psycopg.Connection]:
    """Commits of this test's connection wait for a standby that does not exist."""
    settings.DATABASE_COMMIT_WAIT_SECONDS = 0.3
    configure(administrator, "'missing'")
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
    yield administrator
    configure(administrator, "DEFAULT")
    connection.close()


def configure(administrator: psycopg.Connection, standbys: str) -> None:
    administrator.execute(f"ALTER SYSTEM SET synchronous_standby_names = {standbys}")
    administrator.execute("SELECT pg_reload_conf()")
    until(lambda: commits_wait(administrator) == (standbys != "DEFAULT"))


def commits_wait(administrator: psycopg.Connection) -> bool:
    """Whether a commit waits for a standby.

    `SHOW` would not do: commits wait from when the checkpointer has read the setting, and each process reads
    it at a time of its own.
    """
    with psycopg.connect(administrator.info.dsn, password=administrator.info.password) as probe:
        probe.execute("SET synchronous_commit = on")
        probe.execute("SELECT pg_logical_emit_message(true, 'probe', '')")
        probe.pgconn.send_query(b"COMMIT")
        state = until(lambda: ended_or_waiting(administrator, probe.info.backend_pid))
        # Closed while it waits: only the process in Postgres goes on waiting.
        probe.close()
    return state == "waiting"


def ended_or_waiting(administrator: psycopg.Connection, process: int) -> str | None:
    """What the commit of another session does: it waits for a standby, has ended, or neither yet (None)."""
    return administrator.execute(
        """SELECT CASE WHEN wait_event = 'SyncRep' THEN 'waiting' WHEN state = 'idle' THEN 'ended' END
           FROM pg_stat_activity WHERE pid = %s""",
        [process],
    ).fetchone()[0]


def test_a_change_that_no_standby_confirms_is_called_unknown_and_its_key_stays_taken(api, no_standby):
    refused = api.post("teams", {"slug": "ml", "title": "ML"}, Idempotency_Key=KEY)
    assert (refused.status_code, refused.json()["code"]) == (503, "outcome_unknown")
    assert refused["Retry-After"] == "2"
    repeated = api.post("teams", {"slug": "ml", "title": "ML"}, Idempotency_Key=KEY)
    assert (repeated.status_code, repeated.json()["code"]) == (409, "idempotency_key_in_flight")

    configure(no_standby, "DEFAULT")
    until(lambda: api.post("teams", {"slug": "ml", "title": "ML"}, Idempotency_Key=KEY).status_code == 201)
    replayed = api.post("teams", {"slug": "ml", "title": "ML"}, Idempotency_Key=KEY)
    assert replayed["Idempotent-Replayed"] == "true"
    assert AuditRecord.objects.filter(object_type="team").count() == 1, "The change took effect once."


def test_the_next_request_has_a_connection_that_works(api, no_standby):
    assert api.put("pools/snowflake", {"capacity": 1}).status_code == 503
    assert api.get("pools").status_code == 200


def test_a_commit_that_is_refused_for_sure_is_no_unknown_outcome():
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE outcome (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)")
        try:
            with pytest.raises(IntegrityError), transaction.atomic():
                cursor.execute("INSERT INTO outcome VALUES (1), (1)")
            cursor.execute("SELECT count(*) FROM outcome")
            assert cursor.fetchone() == (0,)
        finally:
            cursor.execute("DROP TABLE outcome")


def test_a_connection_that_ends_before_the_commit_is_confirmed_is_an_unknown_outcome(administrator):
    with pytest.raises(OutcomeUnknown), transaction.atomic():
        Pool.objects.create(**POOL)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (process,) = cursor.fetchone()
        administrator.execute("SELECT pg_terminate_backend(%s, 5000)", [process])
    assert not Pool.objects.exists()


def test_a_database_that_accepts_no_changes_says_so_and_is_looked_for_again(api):
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    refused = api.put("pools/snowflake", {"capacity": 1})
    assert (refused.status_code, refused.json()["code"]) == (503, "read_only")
    assert api.put("pools/snowflake", {"capacity": 1}).status_code == 201, "On a new connection."


def test_flytes_paths_say_the_same_in_their_format(api, no_standby):
    refused = FlyteHttp(api.token)("POST", "projects", {"project": {"id": "p", "name": "P"}})
    assert refused.status_code == 503
    assert "may have been saved or not" in refused.json()["message"]
