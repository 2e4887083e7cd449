"""Celery tasks of the registry."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings

from registry import lifecycle
from registry.agent_configs import reconcile
from registry.agent_configs.reachability import check
from registry.bulk_changes import execution as bulk_changes
from registry.dispatch import retention
from registry.dispatch.sweep import sweep_resources as run_resource_timers
from registry.heartbeats import token_usage
from registry.joining import repeated_joins
from registry.listing import counts
from registry.providers import expiry
from registry.sweep import sweep


@shared_task(name="registry.sweep_leases")
def sweep_leases() -> None:
    sweep.sweep_leases()
    expiry.expire_providers()


@shared_task(name="registry.sweep_resources")
def sweep_resources() -> None:
    """Run the timers of resources: send again, move to another agent, place what waits."""
    run_resource_timers()


@shared_task(name="registry.tend_resources")
def tend_resources() -> None:
    """Delete records of deleted resources, answered messages, and events that cannot arrive again."""
    retention.delete_old()


@shared_task(name="registry.note_token_uses")
def note_token_uses() -> None:
    token_usage.note_token_uses()


@shared_task(name="registry.tend_agents")
def tend_agents() -> None:
    """Run maintenance without time limits: end drains, collect garbage, compact counts."""
    lifecycle.end_drains()
    lifecycle.collect_garbage(
        retire_after=timedelta(days=settings.AGENT_RETIRE_AFTER_DAYS),
        remove_after=timedelta(days=settings.AGENT_REMOVE_AFTER_DAYS),
    )
    repeated_joins.delete_old_keys()
    bulk_changes.delete_old(timedelta(days=30))
    counts.compact()


@shared_task(name="registry.run_bulk_changes")
def run_bulk_changes() -> None:
    bulk_changes.run_bulk_changes()


@shared_task(name="registry.recompute_agent_configs")
def recompute_agent_configs() -> None:
    reconcile.reconcile()


@shared_task(name="registry.probe_agent_endpoints")
def probe_agent_endpoints() -> None:
    check.check_endpoints()
