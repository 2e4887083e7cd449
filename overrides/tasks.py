"""Celery tasks of overrides."""

from celery import shared_task

from overrides.file_source import synchronise


@shared_task(name="overrides.synchronise_source")
def synchronise_source() -> None:
    synchronise.synchronise()
