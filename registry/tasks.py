"""Celery's doors to the registry."""

from celery import shared_task

from registry.agents import sweep


@shared_task(name="registry.sweep_leases")
def sweep_leases() -> None:
    sweep.sweep_leases()
