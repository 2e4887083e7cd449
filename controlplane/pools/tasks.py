"""Celery tasks of pools."""

from celery import shared_task

from controlplane.pools import drift, expiry, quotas


@shared_task(name="pools.sweep")
def sweep() -> None:
    expiry.sweep_pools()


@shared_task(name="pools.tend")
def tend() -> None:
    """Compare counts with leases, count for quotas, and delete leases that ended long ago."""
    drift.mend_drift()
    quotas.recount()
    expiry.delete_ended()
