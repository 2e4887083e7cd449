"""The installation as a whole: its version, its schema, and figures beyond their limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from controlplane import __version__
from controlplane.database.clock import statement_now
from controlplane.observability.alerting.checks import Check, checks_of
from controlplane.observability.metrics import scraped_figures


@dataclass(frozen=True, slots=True)
class Installation:
    """schema: the last migration of each app that has any."""

    version: str
    server_time: datetime
    schema: Mapping[str, str]
    checks: tuple[Check, ...]


def read_installation() -> Installation:
    """Return what this server sees now, by the database's clock."""
    applied = sorted(MigrationRecorder(connection).applied_migrations())
    checks = checks_of(scraped_figures())
    return Installation(__version__, statement_now(), dict(applied), tuple(checks))
