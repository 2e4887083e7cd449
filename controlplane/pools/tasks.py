"""Celery tasks of pools."""

from celery import shared_task

from controlplane.pools import drift, expiry


@shared_task(name="pools.sweep")
def sweep() -> None:
    expiry.sweep_pools()


@shared_task(name="pools.tend")
def tend() -> None:
    """Compare counts with leases, and delete leases that ended long ago."""
    drift.mend_drift()
    expiry.delete_ended()
