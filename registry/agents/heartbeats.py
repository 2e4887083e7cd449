"""Heartbeats renew leases. Judged by Postgres' clock at receipt; acknowledged after the commit.

This is the exact way of one heartbeat. Usual ones are taken many at a time (many_heartbeats.py, and
registry/fast_heartbeats): what changes nothing but the lease.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from controlplane.access.actors import Actor
from controlplane.errors import AgentRetired, PermissionDenied, UnknownAgent
from registry.agents.damping import FlapRecord, returning
from registry.agents.liveness import LivenessPolicy
from registry.agents.policies import damping_policy
from registry.agents.reports import Report, store_report
from registry.agents.states import DECIDED, State, after_heartbeat
from registry.agents.transitions import move
from registry.models import Agent, Lease
from registry.providers import storing as providers
from registry.providers.reporting import follow_report
from registry.providers.storing import By


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """reported_at: the agent's own clock, kept to show its skew. consumer_lag: unread messages."""

    reported_at: datetime
    consumer_lag: int
    report: Report | None = None


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

    The lease's row is locked first, here and in the sweep: whoever has it decides the state.
    """
    lease = _locked_lease(agent_id)
    agent = lease.agent
    if not any_agent and agent.registered_by != actor.principal_id:
        raise PermissionDenied("This agent was registered with another token.")
    unbroken = lease.expires_at >= lease.now  # type: ignore[attr-defined]
    _renew(lease, heartbeat, policy)
    if heartbeat.report and heartbeat.report.digest != bytes(lease.report_digest or b""):
        store_report(agent.id, heartbeat.report)
        held = providers.locked(agent, lease, lease.now)  # type: ignore[attr-defined]
        if follow_report(held, heartbeat.report.said, by=By(actor.name, actor.request_id), policy=policy):
            Lease.objects.filter(agent_id=agent.id).update(report_digest=None)
    if agent.state in DECIDED:
        if agent.state == State.RETIRED:
            raise AgentRetired(
                "This agent has left, or was sent away. Register it again: POST /api/v1/agents."
            )
        return agent
    if agent.state == State.UNAVAILABLE and not _is_back(agent, unbroken, policy):
        return agent
    draining = bool(agent.drain_reason)
    new = after_heartbeat(heartbeat.consumer_lag, congestion_lag=congestion_lag, draining=draining)
    move(
        agent,
        new,
        reason=reason_of(new, heartbeat.consumer_lag, congestion_lag),
        actor=actor.name,
        request_id=actor.request_id,
    )
    return agent


def _locked_lease(agent_id: UUID) -> Lease:
    lease = Lease.objects.select_for_update().annotate(now=Now()).filter(agent_id=agent_id).first()
    if lease is None:
        raise UnknownAgent("We do not know this agent. Register it again: POST /api/v1/agents.")
    # Only now: joined to the lock, it would be as it was before we waited for a sweep that marked it.
    lease.agent = Agent.objects.get(id=agent_id)
    lease.agent.lease = lease
    lease.agent.now = lease.now  # type: ignore[attr-defined]  # as AgentQuerySet.shown has it
    return lease


def _renew(lease: Lease, heartbeat: Heartbeat, policy: LivenessPolicy) -> None:
    now: datetime = lease.now  # type: ignore[attr-defined]
    lease.renewed_at, lease.expires_at = now, now + policy.lease
    lease.reported_at, lease.consumer_lag = heartbeat.reported_at, heartbeat.consumer_lag
    changed = {name: getattr(lease, name) for name in _RENEWED}
    if heartbeat.report:
        changed["report_digest"] = heartbeat.report.digest
        if lease.vouched_at is not None:
            changed["vouched_at"] = now
    Lease.objects.filter(agent_id=lease.agent_id).update(**changed)


_RENEWED = ("renewed_at", "expires_at", "reported_at", "consumer_lag")


def _is_back(agent: Agent, unbroken: bool, policy: LivenessPolicy) -> bool:
    """Judge the return of a silent agent, and note it. One that flaps has to beat for a while first."""
    record = FlapRecord(agent.flap_penalty, agent.flapped_at, agent.steady_since)
    judged = returning(
        record,
        unbroken=unbroken,
        policy=damping_policy(policy),
        now=agent.now,  # type: ignore[attr-defined]
    )
    agent.flap_penalty, agent.flapped_at = judged.record.penalty, judged.record.at
    agent.steady_since = judged.record.steady_since
    if judged.wait:
        agent.state_reason = f"It came back too often: it must beat for {judged.wait.seconds + 1} s more."
    agent.save(update_fields=["flap_penalty", "flapped_at", "steady_since", "state_reason"])
    return not judged.wait


def reason_of(state: State, consumer_lag: int, congestion_lag: int) -> str:
    if state is State.CONGESTED:
        return f"{consumer_lag} unread messages; {congestion_lag} count as congested."
    if state is State.DRAINING:
        return "It beats, and drains as it was told before."
    return "It beats."
