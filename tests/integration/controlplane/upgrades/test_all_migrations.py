"""All migrations, as SQL, keep the rules: the previous release serves requests while they run."""

from __future__ import annotations

from functools import cache

import pytest
from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from controlplane.members.versions import OLDEST_PROCESS, is_contract, is_too_old, numbers
from controlplane.upgrades.migration_rules import Finding, check
from controlplane.upgrades.phases import Phase
from tests.support.migration_exceptions import EXCEPTIONS

# Not within a transaction, in which Django refuses to build an index concurrently.
pytestmark = pytest.mark.django_db(transaction=True)


@cache
def scripts() -> dict[str, tuple[Migration, list[str]]]:
    """The SQL of each migration against the schema before it, by `app.name`."""
    executor = MigrationExecutor(connection)
    state = executor._create_project_state()
    found = {}
    for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes(), clean_start=True):
        if not type(migration).__module__.startswith("migrations."):
            state = migration.mutate_state(state, preserve=False)
            continue
        with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
            state = migration.apply(state, editor, collect_sql=True)
        found[f"{migration.app_label}.{migration.name}"] = (
            migration,
            [str(sql) for sql in editor.collected_sql],
        )
    return found


def phase_of(migration: Migration) -> Phase:
    return Phase(getattr(migration, "phase", Phase.EXPAND))


@cache
def findings() -> dict[str, list[Finding]]:
    return {
        name: check(
            sql,
            phase=phase_of(migration),
            is_atomic=migration.atomic,
            widens=getattr(migration, "widens", ()),
        )
        for name, (migration, sql) in scripts().items()
    }


def test_every_migration_keeps_the_rules_but_for_those_written_before_them():
    found = {
        name: [each for each in all_of_it if each.rule not in EXCEPTIONS.get(name, "").split()]
        for name, all_of_it in findings().items()
    }
    assert not any(found.values()), "\n".join(
        f"{name}: {finding}" for name, left in found.items() for finding in left
    )


def test_no_exception_is_left_that_nothing_needs():
    needed = {name: {each.rule for each in all_of_it} for name, all_of_it in findings().items()}
    assert {name: set(rules.split()) for name, rules in EXCEPTIONS.items()} == {
        name: rules for name, rules in needed.items() if name in EXCEPTIONS
    }


def test_contracting_migrations_say_since_when_nobody_uses_what_they_drop():
    for name, (migration, _) in scripts().items():
        is_contracting = phase_of(migration) is Phase.CONTRACT
        assert is_contracting == is_contract(migration.name), f"{name}: call it NNNN_contract_…, or do not."
        if is_contracting:
            since = getattr(migration, "unused_since", "")
            assert numbers(since), f"{name} needs `unused_since`."
            assert not is_too_old(OLDEST_PROCESS, since), (
                f"{name}: {OLDEST_PROCESS} still uses it, and must run beside this release. Drop it later."
            )
