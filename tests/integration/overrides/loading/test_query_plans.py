"""With 100,000 overrides, every query of the hot paths goes by an index: none reads a whole table."""

from __future__ import annotations

import re

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from controlplane.scopes import Scope
from overrides.editing.writes import put_override
from overrides.effective.effective import effective_many
from overrides.loading.current import load_current
from overrides.loading.related_rows import load_related_rows
from overrides.resolution.addresses import Address
from tests.support.api_client import ACTOR

# 100 projects x 3 domains x 42 workflows x 8 types.
LAUNCH_PLAN = Scope("development", "p7", "w3", "nightly")
BIG = ("overrides_override", "overrides_overrideversion", "overrides_scopehead")
# ANALYZE waits for an autovacuum of the same table, which gives way to a waiter only at its deadlock timeout.
FILL = """
SET LOCAL deadlock_timeout = '100ms'; SET LOCAL lock_timeout = '30s'; SET LOCAL statement_timeout = '120s';
INSERT INTO overrides_project (id, name, description) SELECT 'p' || n, 'p', '' FROM generate_series(0, 99) n;
INSERT INTO overrides_overrideversion
    (resource_type, project, domain, workflow, launch_plan, version, revision, attributes, owners,
     changed_by, change_message, request_id, override_id, declared_in)
SELECT t, 'p' || p, d, 'w' || w, '', 1, 1, '{}', '{}', 'x', '', '', gen_random_uuid(), ''
FROM generate_series(0, 99) p, unnest(ARRAY['development', 'staging', 'production']) d,
     generate_series(0, 41) w,
     unnest(ARRAY['task_resource', 'cluster_resource', 'execution_queue', 'execution_cluster_label',
            'quality_of_service_specification', 'plugin_override', 'workflow_execution_config',
            'cluster_assignment']) t;
INSERT INTO overrides_override
    (id, resource_type, project, domain, workflow, launch_plan, attributes, owners, version, revision,
     changed_by, change_message, declared_in)
SELECT override_id, resource_type, project, domain, workflow, '', '{}', '{}', 1, 1, 'x', '', ''
FROM overrides_overrideversion;
INSERT INTO overrides_scopehead (project, domain, workflow, launch_plan, revision)
SELECT DISTINCT project, domain, workflow, '', 1 FROM overrides_override;
UPDATE overrides_revisioncounter SET revision = 1;
INSERT INTO overrides_revision (revision, made_at, made_by, change_message, request_id, changes, everything)
VALUES (1, now(), 'x', '', '', 100800, false);
ANALYZE overrides_override; ANALYZE overrides_overrideversion; ANALYZE overrides_scopehead;
"""


@pytest.fixture(scope="module")
def filled(django_db_setup, django_db_blocker):
    """One transaction for this module: to fill the tables takes longer than all tests do."""
    with django_db_blocker.unblock(), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(FILL)
            cursor.execute("SELECT count(*) FROM overrides_override")
            assert cursor.fetchone()[0] == 100_800
        yield
        transaction.set_rollback(True)


@pytest.fixture
def many(filled, django_db_blocker):
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def whole_tables_read(call) -> list[str]:
    """The big tables that some query of the call would read from end to end."""
    with CaptureQueriesContext(
        connection,
    ) as captured:
        call()
    big = []
    with connection.cursor() as cursor:
        for query in captured.captured_queries:
            if not re.match(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)", str(query["sql"])):
                continue
            cursor.execute("EXPLAIN " + query["sql"])
            plan = "\n".join(row[0] for row in cursor.fetchall())
            big += [table for table in BIG if re.search(rf"Seq Scan on {table}\b", plan)]
    return big


def test_one_effective_read(many):
    assert whole_tables_read(lambda: effective_many([LAUNCH_PLAN])) == []


def test_one_effective_read_of_the_past(many):
    assert whole_tables_read(lambda: effective_many([LAUNCH_PLAN], as_of=1)) == []


def test_a_batch_of_a_thousand_scopes_is_one_query_by_the_index(many):
    scopes = [Scope("development", f"p{n % 100}", f"w{n // 100}") for n in range(1000)]

    with CaptureQueriesContext(connection) as captured:
        effective_many(scopes)

    assert sum("overrides_override" in str(query["sql"]) for query in captured.captured_queries) == 1
    assert whole_tables_read(lambda: effective_many(scopes)) == []


def test_the_family_of_a_change_at_any_level_but_the_broadest(many):
    project = Scope(project="p7")
    for scope in (project, Scope("development", "p7"), Scope("development", "p7", "w3"), LAUNCH_PLAN):
        assert whole_tables_read(lambda scope=scope: load_related_rows("task_resource", [scope])) == []


def test_what_stands_at_an_address(many):
    addresses = [
        Address("task_resource", LAUNCH_PLAN),
        Address("task_resource", Scope("staging", "p1", "w1")),
    ]

    assert whole_tables_read(lambda: load_current(addresses)) == []


def test_a_whole_write(many):
    address = Address("workflow_execution_config", LAUNCH_PLAN)

    assert whole_tables_read(lambda: put_override(address, {"max_parallelism": 1}, actor=ACTOR)) == []
