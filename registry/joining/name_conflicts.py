"""Refuse processes that claim the name of another one, and announce duplicates once if both run."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from controlplane.errors import DuplicateInstance
from controlplane.events import log
from controlplane.identity.actors import Actor
from registry.agents.event_types import AGENT_DUPLICATED
from registry.agents.instances import Holder, is_duplicate
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent, Lease
from registry.agents.transitions import agent_facts


def holder_of(lease: Lease, policy: LivenessPolicy) -> Holder:
    return Holder(lease.instance_uuid, lease.renewed_at, policy.expected_interval(lease.set_seconds))


def refusal(lease: Lease, instance: UUID, policy: LivenessPolicy, now: datetime) -> DuplicateInstance:
    """Return the error for a process that claims the name of another one."""
    wait = max(1, math.ceil(holder_of(lease, policy).holds_for(now).total_seconds()))
    error = DuplicateInstance(
        "Another process with this name and credential sends heartbeats. Stop one of the two, or after a "
        f"restart register again in {wait} s.",
        retry_after=wait,
    )
    error.agent_id, error.instance = lease.agent_id, instance
    return error


@transaction.atomic
def note_rival(duplicate: DuplicateInstance, *, actor: Actor) -> None:
    """Store the refused process as rival; record one event if both processes run."""
    rows = Lease.objects.select_for_update(of=("self",)).annotate(now=Now())
    lease = rows.filter(agent_id=duplicate.agent_id).first()
    if lease is None:
        return
    fields: dict[str, Any] = {"rival_uuid": duplicate.instance}
    if lease.rival_since is None or lease.rival_announced:
        fields["rival_since"] = lease.now
    elif is_duplicate(lease.renewed_at, lease.rival_since):
        fields |= {"rival_since": lease.now, "rival_announced": True}
        _announce(lease, duplicate, actor)
    Lease.objects.filter(agent_id=lease.agent_id).update(**fields)


def _announce(lease: Lease, duplicate: DuplicateInstance, actor: Actor) -> None:
    agent = Agent.objects.get(id=lease.agent_id)
    log.append(
        AGENT_DUPLICATED,
        "agent",
        str(agent.id),
        data={
            **agent_facts(agent),
            "instance_uuid": str(lease.instance_uuid),
            "refused_instance_uuid": str(duplicate.instance),
        },
        actor=actor.name,
        request_id=actor.request_id,
        team_id=agent.team_id,
    )
