"""The move to leases that know more: rows of before are filled, beside heartbeats, and back again."""

from __future__ import annotations

import threading
import time
import uuid

import pytest
from django.db import connection, connections, transaction
from django.db.migrations.executor import MigrationExecutor

from controlplane.database import roles

BEFORE, AFTER = ("registry", "0002_lease_storage"), ("registry", "0005_leases_for_fleets")
INSERT = """
INSERT INTO registry_agent (id, name, environment, service_types, cost, topic_name, state, state_reason)
SELECT gen_random_uuid(), 'a' || n, 'e' || n % 7, '[]', 'low', 'dcm.agent.a' || n,
    (ARRAY['ready', 'congested', 'unavailable'])[1 + n % 3], ''
FROM generate_series(1, 12000) AS n;
INSERT INTO registry_lease (agent_id, renewed_at, expires_at, consumer_lag)
SELECT id, now(), now() + interval '90 s', 0 FROM registry_agent;
"""


def migrate(target: tuple[str, str]) -> None:
    executor = MigrationExecutor(connection)
    executor.migrate([target])


def migrate_fully() -> None:
    """As the other tests expect the schema: with what came after these."""
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes("registry"))
    # As `manage.py migrate` does: tables that were made again have lost the rights of web and worker.
    with transaction.atomic(), connection.cursor() as cursor:
        roles.grant(cursor)


def rows(statement: str) -> list:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def former_schema(transactional_db):
    migrate(BEFORE)
    rows(INSERT)
    yield
    rows("TRUNCATE registry_agent CASCADE")
    migrate_fully()


def test_rows_of_before_get_their_state_and_guard_while_heartbeats_go_on(former_schema):
    stop, beats, longest = threading.Event(), [0], [0.0]

    def beat() -> None:
        """As the former release does: by the lease's key."""
        ids = [row[0] for row in rows("SELECT id FROM registry_agent LIMIT 50")]
        while not stop.is_set():
            one = ids[beats[0] % 50]
            began = time.monotonic()
            rows(f"UPDATE registry_lease SET renewed_at = now() WHERE agent_id = '{one}'")
            longest[0] = max(longest[0], time.monotonic() - began)
            beats[0] += 1
        connections.close_all()

    beating = threading.Thread(target=beat)
    beating.start()
    migrate(AFTER)
    stop.set()
    beating.join(10)

    assert beats[0] > 50
    assert longest[0] < 1
    assert rows(
        "SELECT count(*) FROM registry_lease JOIN registry_agent ON id = agent_id"
        " WHERE registry_lease.state <> registry_agent.state OR guard_id IS NULL"
    ) == [(0,)]
    assert rows("SELECT count(*) FROM registry_fleetguard") == [(8,)]
    indexes = {
        name for (name,) in rows("SELECT indexname FROM pg_indexes WHERE tablename = 'registry_lease'")
    }
    assert "lease_by_token" in indexes
    assert "lease_by_deadline" not in indexes


def test_the_former_release_may_go_on_registering(transactional_db):
    """It knows nothing of the new columns."""
    agent = uuid.uuid4()
    rows(
        "INSERT INTO registry_agent"
        " (id, name, environment, service_types, cost, topic_name, state, state_reason)"
        f" VALUES ('{agent}', 'old', 'e', '[]', 'low', 'dcm.agent.old', 'ready', '')"
    )
    rows(
        f"INSERT INTO registry_lease (agent_id, renewed_at, expires_at, consumer_lag)"
        f" VALUES ('{agent}', now(), now() - interval '1 s', 0)"
    )

    from registry.sweep.sweep import sweep_leases
    from tests.integration.test_agents import long_up

    long_up()
    assert sweep_leases() == 1
    assert rows("SELECT state FROM registry_lease") == [("unavailable",)]
