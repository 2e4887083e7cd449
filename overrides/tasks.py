"""Celery tasks of overrides."""

from celery import shared_task

from overrides import pool_limits
from overrides.executions import pool_leases, retention
from overrides.file_source import synchronise
from overrides.scheduling import execution


@shared_task(name="overrides.synchronise_source")
def synchronise_source() -> None:
    synchronise.synchronise()


@shared_task(name="overrides.run_due_changes")
def run_due_changes() -> None:
    """Apply scheduled changes of overrides whose time has come, and undo those that expired."""
    execution.run_due_changes()


@shared_task(name="overrides.tend_flyte_executions")
def tend_flyte_executions() -> None:
    retention.delete_old_executions()


@shared_task(name="overrides.release_pool_leases")
def release_pool_leases() -> None:
    """Release units of pools that ended executions of Flyte still hold."""
    pool_leases.release_of_ended_executions()


@shared_task(name="overrides.follow_pool_limits")
def follow_pool_limits() -> None:
    """Have the caps of pools agree with the overrides of the type `pool_limits`."""
    pool_limits.follow_overrides()
