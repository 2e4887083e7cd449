"""The state of the installation: its version, processes, checks, backlog, sources and backups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Max

from controlplane import __version__
from controlplane.database.clock import statement_now
from controlplane.installation.backlog import Backlog, Waiting, backlog_of
from controlplane.installation.backup_reports import overdue_for
from controlplane.installation.backups import last_backup
from controlplane.installation.facts import EngagedGuard, Source, engaged_guards, sources
from controlplane.members.reading import Members, read_members
from controlplane.observability.alerting.checks import Check, checks_of
from controlplane.observability.metrics import scraped_figures
from controlplane.retention.models import Archive


@dataclass(frozen=True, slots=True)
class BackupState:
    """The last backup that was reported. overdue: for how long the next one is."""

    finished_at: datetime
    next_within: timedelta
    size_bytes: int | None
    location: str
    reported_by: str
    overdue: timedelta


@dataclass(frozen=True, slots=True)
class Installation:
    """schema: the last migration of each app that has any. backup: None if none was ever reported.

    archives: when a month of each log was last archived and verified.
    """

    version: str
    commit: str
    server_time: datetime
    schema: Mapping[str, str]
    checks: Sequence[Check]
    members: Members
    backlog: Backlog
    guards: Sequence[EngagedGuard]
    sources: Sequence[Source]
    backup: BackupState | None
    archives: Mapping[str, datetime]

    @property
    def is_good(self) -> bool:
        return all(check.is_good for check in self.checks)


def read_installation(*, reader: str = "") -> Installation:
    """Return what this server sees now, by the database's clock. reader: as of `scraped_figures`."""
    applied = sorted(MigrationRecorder(connection).applied_migrations())
    figures = scraped_figures(reader=reader)
    now = statement_now()
    return Installation(
        version=__version__,
        commit=settings.BUILD_COMMIT,
        server_time=now,
        schema=dict(applied),
        checks=checks_of(figures),
        members=read_members(),
        backlog=backlog_of(figures, _unnumbered_events()),
        guards=engaged_guards(),
        sources=sources(),
        backup=_backup(now),
        archives=dict(Archive.objects.values_list("log").annotate(Max("verified_at")).order_by("log")),
    )


def _backup(now: datetime) -> BackupState | None:
    row = last_backup()
    if row is None:
        return None
    within = timedelta(seconds=row.next_within_seconds)
    return BackupState(
        finished_at=row.finished_at,
        next_within=within,
        size_bytes=row.size_bytes,
        location=row.location,
        reported_by=row.reported_by,
        overdue=overdue_for(row.finished_at, within, now),
    )


def _unnumbered_events() -> Waiting:
    with connection.cursor() as cursor:
        cursor.execute(_UNNUMBERED)
        count, age = cursor.fetchone()
    return Waiting(count, age)


# From a partial index of the events that nobody has numbered yet. Above ten thousand, more says no more.
_UNNUMBERED = """
SELECT count(*), greatest(coalesce(extract(epoch FROM statement_timestamp() - min(at)), 0), 0)::float
  FROM (SELECT at FROM events_event WHERE seq IS NULL ORDER BY position LIMIT 10000) waiting
"""
