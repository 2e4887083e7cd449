"""Celery tasks for housekeeping of the API."""

from celery import shared_task

from controlplane.api import idempotency


@shared_task(name="api.purge_idempotency_keys")
def purge_idempotency_keys() -> None:
    idempotency.purge()
