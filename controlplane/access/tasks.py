"""Celery tasks of access."""

from celery import shared_task

from controlplane.access.oauth import housekeeping
from controlplane.database.clock import statement_now


@shared_task(name="access.tidy_oauth")
def tidy_oauth() -> None:
    housekeeping.tidy(statement_now())
