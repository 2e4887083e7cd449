"""Celery tasks of deliveries."""

from celery import shared_task

from controlplane.delivery.purge import purge


@shared_task(name="delivery.purge")
def purge_deliveries() -> None:
    purge()
