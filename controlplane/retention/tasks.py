"""Celery tasks of retention."""

from celery import shared_task
from django.conf import settings

from controlplane.access.audit_chain.seal import seal_past_days
from controlplane.access.audit_chain.verify import verify
from controlplane.database import silence
from controlplane.database.clock import statement_now
from controlplane.retention import cycle
from controlplane.retention.partitions import audit_kept_from


@shared_task(name="retention.tend_partitions")
def tend_partitions() -> None:
    cycle.tend_partitions(now=statement_now())


@shared_task(name="retention.retain", acks_late=False, time_limit=6 * 3600)
def retain() -> None:
    # A month may take longer than the visibility timeout, so that the task is not delivered again.
    if settings.ARCHIVE_URL:
        with silence.watch.paused():
            cycle.retain(now=statement_now())


@shared_task(name="retention.seal_audit", acks_late=False, time_limit=6 * 3600)
def seal_audit() -> None:
    with silence.watch.paused():
        if seal_past_days(statement_now()):
            verify(kept_from=audit_kept_from(), newest=7)
