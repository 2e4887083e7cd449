"""Celery tasks of access."""

from celery import shared_task
from django.utils import timezone

from controlplane.access.oauth import housekeeping


@shared_task(name="access.tidy_oauth")
def tidy_oauth() -> None:
    housekeeping.tidy(timezone.now())
