"""Lease durations that operators set for one agent or for all agents of an environment.

An unmodified DCM agent may send a heartbeat every ten minutes, and ignores our responses.
"""

from __future__ import annotations

from uuid import UUID

from django.db import connection, transaction

from controlplane.access import audit
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.actors import Actor
from registry.agents.event_types import AGENT_LEASE_CHANGED
from registry.agents.liveness import LivenessPolicy, whole_seconds
from registry.agents.lookup import unknown_agent
from registry.agents.models import Agent, Lease
from registry.agents.transitions import agent_facts
from registry.environments.event_types import ENVIRONMENT_LEASE_CHANGED
from registry.environments.evidence import WHOLE_FLEET
from registry.environments.guarding import environment_id_of
from registry.environments.models import Environment

LONGEST_SECONDS = 24 * 3600


@transaction.atomic
def set_agent_lease(
    agent_id: UUID, lease_seconds: int | None, *, actor: Actor, policy: LivenessPolicy
) -> Agent:
    """Set the lease of one agent; None: use that of its environment. Raises UnknownAgent, InvalidRequest."""
    _check_lease(lease_seconds, policy)
    lease = Lease.objects.select_for_update().filter(agent_id=agent_id).first()
    if lease is None:
        raise unknown_agent(agent_id)
    before, agent = lease.lease_seconds, Agent.objects.get(id=agent_id)
    if lease_seconds != before:
        Lease.objects.filter(agent_id=agent_id).update(lease_seconds=lease_seconds)
        _extend_leases("agent_id = %(object_id)s", agent_id, lease_seconds)
        audit.record(
            AGENT_LEASE_CHANGED,
            "agent",
            str(agent_id),
            actor=actor,
            before={"lease_seconds": before},
            after={"lease_seconds": lease_seconds},
            data={**agent_facts(agent), "lease_seconds": lease_seconds},
            team_id=agent.team_id,
        )
    return Agent.objects.shown().get(id=agent_id)


@transaction.atomic
def set_environment_lease(
    name: str, lease_seconds: int | None, *, actor: Actor, policy: LivenessPolicy
) -> Environment:
    """Set the lease of an environment's agents that have none of their own; None: LEASE_SECONDS.

    The environment may be without agents yet. Raises InvalidRequest.
    """
    if name == WHOLE_FLEET:
        message = "The environment must not be empty. To change the whole installation, set LEASE_SECONDS."
        raise InvalidRequest(message, errors=[FieldError("/environment", "blank", message)])
    _check_lease(lease_seconds, policy)
    environment = Environment.objects.select_for_update().get(id=environment_id_of(name))
    before = environment.lease_seconds
    if lease_seconds != before:
        environment.lease_seconds = lease_seconds
        environment.save(update_fields=["lease_seconds"])
        _extend_leases(
            "environment_id = %(object_id)s AND lease_seconds IS NULL", environment.id, lease_seconds
        )
        audit.record(
            ENVIRONMENT_LEASE_CHANGED,
            "environment",
            name,
            actor=actor,
            before={"lease_seconds": before},
            after={"lease_seconds": lease_seconds},
            data={"environment": name, "lease_seconds": lease_seconds},
        )
    return environment


def _check_lease(lease_seconds: int | None, policy: LivenessPolicy) -> None:
    """Raise InvalidRequest for a lease that one lost heartbeat would end, or that is too long."""
    shortest = whole_seconds(policy.shortest_lease())
    if lease_seconds is not None and not shortest <= lease_seconds <= LONGEST_SECONDS:
        message = (
            f"A lease must be {shortest} to {LONGEST_SECONDS} seconds: at least three heartbeat intervals of "
            f"{whole_seconds(policy.interval)} s."
        )
        raise InvalidRequest(message, errors=[FieldError("/lease_seconds", "out_of_range", message)])


def _extend_leases(condition: str, object_id: UUID | int, lease_seconds: int | None) -> None:
    """Apply a longer lease now; a shorter one applies from the next heartbeat."""
    if lease_seconds is not None:
        with connection.cursor() as cursor:
            cursor.execute(
                _EXTEND_LEASES % {"condition": condition}, {"object_id": object_id, "seconds": lease_seconds}
            )


# In the order of the keys, as heartbeats lock them. `condition` is one of the constants above.
_EXTEND_LEASES = """
WITH affected AS (
    SELECT agent_id FROM registry_lease WHERE %(condition)s ORDER BY agent_id FOR UPDATE
)
UPDATE registry_lease AS lease
SET expires_at = greatest(lease.expires_at, lease.renewed_at + %%(seconds)s * interval '1 second')
FROM affected WHERE lease.agent_id = affected.agent_id
"""
