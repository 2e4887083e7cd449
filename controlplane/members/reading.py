"""Members as the state of the installation shows them: by the database's clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.functions import Now

from controlplane.database.clock import statement_now
from controlplane.members.builds import this_build
from controlplane.members.models import Member, SchemaRecord
from controlplane.members.versions import (
    Build,
    Run,
    Schema,
    Skew,
    is_contract,
    is_gone,
    newest,
    skew_of,
    skewed_for,
    worst,
)


@dataclass(frozen=True, slots=True)
class MemberState:
    """A process. skew: whether its version goes together with the schema and the others."""

    process: str
    instance: str
    host: str
    pid: int
    version: str
    commit: str
    started_at: datetime
    seen_at: datetime
    is_gone: bool
    skew: Skew


@dataclass(frozen=True, slots=True)
class Members:
    """versions: how many processes run of each. oldest_process: the oldest version that may run."""

    items: Sequence[MemberState]
    versions: Mapping[str, int]
    skew: Skew
    skewed_for: timedelta
    oldest_process: str

    @property
    def running(self) -> Sequence[MemberState]:
        return [member for member in self.items if not member.is_gone]


def read_members() -> Members:
    """Return all processes of the last day. Those that are gone count for nothing else."""
    now = statement_now()
    rows = list(Member.objects.order_by("process", "instance", "id"))
    running = [row for row in rows if not is_gone(row.seen_at, now)]
    schema = _schema()
    top = newest(row.version for row in running)
    items = [_state(row, schema, top, now) for row in rows]
    return Members(
        items=items,
        versions=dict(Counter(row.version for row in running)),
        skew=worst(item.skew for item in items if not item.is_gone),
        skewed_for=skewed_for([Run(row.version, row.started_at) for row in running], now),
        oldest_process=schema.oldest_process,
    )


def running_processes(using: str) -> list[tuple[str, str, str]]:
    """Return kind, instance and version of each process that runs; none before the table exists.

    Only columns that the table has had from the beginning: newer code asks before it migrates.
    """
    if Member._meta.db_table not in connections[using].introspection.table_names():
        return []
    rows = Member.objects.using(using).annotate(now=Now()).order_by("process", "instance")
    columns = rows.values_list("process", "instance", "version", "seen_at", "now")
    return [
        (process, instance, version)
        for process, instance, version, seen_at, now in columns
        if not is_gone(seen_at, now)
    ]


def _schema() -> Schema:
    ours = this_build().schema
    # In order of their names: the last one of each app stays.
    names = sorted(MigrationRecorder(connection).applied_migrations())
    applied = {app: name for app, name in names if not is_contract(name)}
    record = SchemaRecord.objects.filter(id=1).first()
    applied_of_ours = {app: name for app, name in applied.items() if app in ours}
    return Schema(applied_of_ours, record.oldest_process if record else "")


def _state(row: Member, schema: Schema, top: str, now: datetime) -> MemberState:
    return MemberState(
        process=row.process,
        instance=row.instance,
        host=row.host,
        pid=row.pid,
        version=row.version,
        commit=row.commit,
        started_at=row.started_at,
        seen_at=row.seen_at,
        is_gone=is_gone(row.seen_at, now),
        skew=skew_of(Build(row.version, row.schema), schema, top),
    )
