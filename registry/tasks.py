"""Celery's doors to the registry."""

from celery import shared_task

from registry.agents import sweep, token_uses
from registry.publishing import looking


@shared_task(name="registry.sweep_leases")
def sweep_leases() -> None:
    sweep.sweep_leases()


@shared_task(name="registry.note_token_uses")
def note_token_uses() -> None:
    token_uses.note_token_uses()


@shared_task(name="registry.recompute_agent_configs")
def recompute_agent_configs() -> None:
    looking.look()
