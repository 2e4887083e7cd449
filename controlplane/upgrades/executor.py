"""Migrations as they run here: by phases, and with limits of what they wait for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from controlplane.members.reading import running_processes
from controlplane.upgrades.phases import Key, Phase, Plan, Running, Step, plan
from controlplane.upgrades.retries import LOCK_SECONDS

_INVALID_INDEX = "SELECT FROM pg_index WHERE indexrelid = to_regclass(%s) AND NOT indisvalid"


class PhasedExecutor(MigrationExecutor):
    """Plans what may run in the phase, and runs it with limits of locks.

    phase: None means all that expands, and what contracts as far as no process is in the way.
    """

    def __init__(self, connection: Any, progress_callback: Any = None, *, phase: Phase | None = None) -> None:
        super().__init__(connection, progress_callback)
        self._phase = phase

    def decide(self, targets: Any = None) -> Plan:
        """Return what may run now of all that is not applied, and what waits. targets: by default, all."""
        whole = super().migration_plan(targets or self.loader.graph.leaf_nodes())
        return self._decide([migration for migration, _ in whole])

    def migration_plan(self, targets: Any, clean_start: bool = False) -> list[tuple[Migration, bool]]:
        """Return Django's plan without the migrations that wait. One that goes back is as Django makes it."""
        whole: list[tuple[Migration, bool]] = super().migration_plan(targets, clean_start)
        if clean_start or any(backwards for _, backwards in whole):
            return whole
        run = set(self._decide([migration for migration, _ in whole]).run)
        return [(migration, False) for migration, _ in whole if _key(migration) in run]

    def apply_migration(
        self, state: Any, migration: Migration, fake: bool = False, fake_initial: bool = False
    ) -> Any:
        """Apply a migration, with limits."""
        with self._limits(migration):
            return super().apply_migration(state, migration, fake=fake, fake_initial=fake_initial)

    def unapply_migration(self, state: Any, migration: Migration, fake: bool = False) -> Any:
        """Undo a migration, with limits."""
        with self._limits(migration):
            return super().unapply_migration(state, migration, fake=fake)

    def _decide(self, migrations: Sequence[Migration]) -> Plan:
        steps = [self._step(migration) for migration in migrations]
        contracts = any(step.phase is Phase.CONTRACT for step in steps)
        processes = self._processes() if contracts else []
        return plan(steps, processes, expand_only=self._phase is Phase.EXPAND)

    def _step(self, migration: Migration) -> Step:
        parents = self.loader.graph.node_map[_key(migration)].parents
        return Step(
            _key(migration),
            Phase(getattr(migration, "phase", Phase.EXPAND)),
            getattr(migration, "unused_since", ""),
            frozenset((parent.key[0], parent.key[1]) for parent in parents),
        )

    def _processes(self) -> list[Running]:
        return [
            Running(f"{process} {instance}", version)
            for process, instance, version in running_processes(self.connection.alias)
        ]

    @contextmanager
    def _limits(self, migration: Migration) -> Iterator[None]:
        """Let a transaction wait a second for a lock; without one it waits, and nobody behind it."""
        if migration.atomic:
            with transaction.atomic(self.connection.alias), self.connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = {LOCK_SECONDS * 1000:.0f}")
                yield
            return
        with session_limits(self.connection, lock_timeout=0, statement_timeout=0):
            self._drop_invalid_indexes(migration)
            yield

    def _drop_invalid_indexes(self, migration: Migration) -> None:
        """Drop what an attempt has left that did not end: an index that exists, and that nothing uses."""
        for operation in migration.operations:
            if isinstance(operation, AddIndexConcurrently):
                name = self.connection.ops.quote_name(operation.index.name)
                with self.connection.cursor() as cursor:
                    cursor.execute(_INVALID_INDEX, [name])
                    if cursor.fetchone() is not None:
                        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def only_contracts_wait(connection: Any) -> bool:
    """Return whether the database has all that this code needs: what it no longer uses may still exist."""
    executor = PhasedExecutor(connection, phase=Phase.EXPAND)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


@contextmanager
def session_limits(connection: Any, **limits: Any) -> Iterator[None]:
    """Give the sessions of a connection other limits, in ms, within the context.

    Within a transaction, and behind a pooler, it keeps what it has.
    """
    if connection.in_atomic_block or settings.DATABASE_POOLER != "none":
        yield
        return
    options = connection.settings_dict["OPTIONS"]
    before = options.get("options", "")
    added = " ".join(f"-c {name}={value}" for name, value in limits.items())
    options["options"] = f"{before} {added}".strip()
    connection.close()
    try:
        yield
    finally:
        options["options"] = before
        connection.close()


def _key(migration: Migration) -> Key:
    return migration.app_label, migration.name
