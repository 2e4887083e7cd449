"""Celery's doors to overrides."""

from celery import shared_task

from overrides import file_source


@shared_task(name="overrides.synchronise_source")
def synchronise_source() -> None:
    file_source.synchronise()
