"""Backups: reported by the jobs that make them, since Controlplane makes none itself."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction

from controlplane.access import audit
from controlplane.database.clock import statement_now
from controlplane.identity.actors import Actor
from controlplane.installation.backup_reports import BackupReport, check_report
from controlplane.installation.event_types import BACKUP_REPORTED
from controlplane.installation.models import Backup

_KEPT = timedelta(days=90)


@transaction.atomic
def report_backup(report: BackupReport, *, actor: Actor) -> Backup:
    """Record a finished backup, and forget those of more than 90 days ago. Raises InvalidRequest."""
    now = statement_now()
    check_report(report, now)
    backup = Backup.objects.create(
        finished_at=report.finished_at or now,
        next_within_seconds=int(report.next_within.total_seconds()),
        size_bytes=report.size_bytes,
        location=report.location,
        reported_by=actor.name,
    )
    backup.refresh_from_db()
    Backup.objects.filter(finished_at__lt=now - _KEPT).exclude(id=backup.id).delete()
    data = {
        "finished_at": backup.finished_at.isoformat(),
        "next_within_seconds": backup.next_within_seconds,
        "location": backup.location,
    }
    audit.record(BACKUP_REPORTED, "backup", str(backup.id), actor=actor, before=None, after=data, data=data)
    return backup


def last_backup() -> Backup | None:
    """Return the backup that ended last; None if none was ever reported."""
    return Backup.objects.order_by("-finished_at", "-id").first()
