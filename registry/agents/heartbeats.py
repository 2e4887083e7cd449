"""Heartbeats renew leases. Judged by Postgres' clock at receipt; acknowledged after the commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from controlplane.access.actors import Actor
from controlplane.errors import PermissionDenied, UnknownAgent
from registry.agents.liveness import LivenessPolicy
from registry.agents.states import State, after_heartbeat
from registry.agents.transitions import move
from registry.models import Agent, Lease


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """reported_at: the agent's own clock, kept to show its skew. consumer_lag: unread messages."""

    reported_at: datetime
    consumer_lag: int


@transaction.atomic
def record_heartbeat(
    agent_id: UUID,
    heartbeat: Heartbeat,
    *,
    actor: Actor,
    any_agent: bool,
    policy: LivenessPolicy,
    congestion_lag: int,
) -> Agent:
    """Renew the lease; a silent agent that beats again is ready again. Raises UnknownAgent.

    The lease's row is written first, here and in the sweep: whoever has it decides the state.
    """
    renewed = Lease.objects.filter(agent_id=agent_id).update(
        renewed_at=Now(),
        expires_at=Now() + policy.lease,
        reported_at=heartbeat.reported_at,
        consumer_lag=heartbeat.consumer_lag,
    )
    if not renewed:
        raise UnknownAgent("We do not know this agent. Register it again: POST /api/v1/agents.")
    agent: Agent = Agent.objects.shown().get(id=agent_id)
    if not any_agent and agent.registered_by != actor.principal_id:
        raise PermissionDenied("This agent was registered with another token.")
    new = after_heartbeat(heartbeat.consumer_lag, congestion_lag=congestion_lag)
    move(
        agent,
        new,
        reason=_reason(new, heartbeat, congestion_lag),
        actor=actor.name,
        request_id=actor.request_id,
    )
    return agent


def _reason(state: State, heartbeat: Heartbeat, congestion_lag: int) -> str:
    if state is State.CONGESTED:
        return f"{heartbeat.consumer_lag} unread messages; {congestion_lag} count as congested."
    return "It beats."
