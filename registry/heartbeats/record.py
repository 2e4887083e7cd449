"""Heartbeats renew leases. Judged by Postgres' clock at receipt; acknowledged after the commit.

This is the exact way of one heartbeat. Usual ones are taken many at a time (many_heartbeats.py, and
registry/fast_heartbeats): what changes nothing but the lease.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from controlplane.errors import AgentRetired, DuplicateInstance, PermissionDenied, UnknownAgent
from controlplane.identity.actors import Actor
from registry.agents.flap_damping import FlapRecord, returning
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent, Lease
from registry.agents.policies import damping_policy
from registry.agents.states import State, after_heartbeat
from registry.agents.transitions import move
from registry.heartbeats.reports import Report, store_report
from registry.joining.name_conflicts import holder_of, note_rival, refusal
from registry.providers import storage as providers
from registry.providers.follow_report import follow_report
from registry.providers.storage import By


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """reported_at: the agent's own clock, kept to show its skew. consumer_lag: unread messages."""

    reported_at: datetime
    consumer_lag: int
    report: Report | None = None
    # The process that sends it, if it says so.
    instance: UUID | None = None


def record_heartbeat(
    agent_id: UUID,
    heartbeat: Heartbeat,
    *,
    actor: Actor,
    any_agent: bool,
    policy: LivenessPolicy,
    congestion_lag: int,
) -> Agent:
    """Renew the lease; a silent agent that beats again is ready again.

    Raises UnknownAgent, AgentRetired, and DuplicateInstance for a process that does not hold the name.
    """
    how = _How(actor, any_agent, policy, congestion_lag)
    try:
        agent = _record(agent_id, heartbeat, how)
    except DuplicateInstance as refused:
        note_rival(refused, actor=actor)
        raise
    if agent.state == State.RETIRED:
        # Only now, after the commit: it is told to go, and yet it counts as one that beats.
        raise AgentRetired("This agent has left, or was sent away. Register it again: POST /api/v1/agents.")
    return agent


@dataclass(frozen=True, slots=True)
class _How:
    actor: Actor
    any_agent: bool
    policy: LivenessPolicy
    congestion_lag: int


@transaction.atomic
def _record(agent_id: UUID, heartbeat: Heartbeat, how: _How) -> Agent:
    """The lease's row is locked first, here and in the sweep: whoever has it decides the state."""
    lease = _locked_lease(agent_id)
    agent = lease.agent
    if not how.any_agent and agent.registered_by != how.actor.principal_id:
        raise PermissionDenied("This agent was registered with another token.")
    now: datetime = lease.now  # type: ignore[attr-defined]  # annotated
    if heartbeat.instance is not None and holder_of(lease, how.policy).is_other(heartbeat.instance):
        raise refusal(lease, heartbeat.instance, how.policy, now)
    if agent.state == State.RETIRED and not agent.retired_for_silence:
        _renew(lease, replace(heartbeat, report=None), how.policy)
        return agent
    unbroken = lease.expires_at >= now
    _renew(lease, heartbeat, how.policy)
    if heartbeat.report and heartbeat.report.digest != bytes(lease.report_digest or b""):
        _follow(agent, heartbeat.report, how)
    back = agent.state != State.UNAVAILABLE or _is_back(agent, unbroken, how.policy)
    if back and agent.state != State.REGISTERED:
        _show_life(agent, heartbeat, how)
    return agent


def _follow(agent: Agent, report: Report, how: _How) -> None:
    store_report(agent.id, report)
    held = providers.locked(agent, agent.lease, agent.now)  # type: ignore[attr-defined]  # annotated
    by = By(how.actor.name, how.actor.request_id)
    if follow_report(held, report.said, by=by, policy=how.policy):
        Lease.objects.filter(agent_id=agent.id).update(report_digest=None)


def _show_life(agent: Agent, heartbeat: Heartbeat, how: _How) -> None:
    new = after_heartbeat(
        heartbeat.consumer_lag, congestion_lag=how.congestion_lag, draining=bool(agent.drain_reason)
    )
    reason = reason_of(new, heartbeat.consumer_lag, how.congestion_lag)
    move(agent, new, reason=reason, actor=how.actor.name, request_id=how.actor.request_id)


def _locked_lease(agent_id: UUID) -> Lease:
    leases = Lease.objects.select_for_update(of=("self",)).select_related("environment").annotate(now=Now())
    lease = leases.filter(agent_id=agent_id).first()
    if lease is None:
        raise UnknownAgent("We do not know this agent. Register it again: POST /api/v1/agents.")
    # Only now: joined to the lock, it would be as it was before we waited for a sweep that marked it.
    lease.agent = Agent.objects.get(id=agent_id)
    lease.agent.lease = lease
    lease.agent.now = lease.now  # type: ignore[attr-defined]  # as AgentQuerySet.shown has it
    return lease


def _renew(lease: Lease, heartbeat: Heartbeat, policy: LivenessPolicy) -> None:
    now: datetime = lease.now  # type: ignore[attr-defined]  # annotated
    lease.renewed_at, lease.expires_at = now, now + policy.granted(lease.set_seconds)
    lease.reported_at, lease.consumer_lag = heartbeat.reported_at, heartbeat.consumer_lag
    changed = {name: getattr(lease, name) for name in _RENEWED}
    if heartbeat.instance is not None:
        changed["instance_uuid"] = heartbeat.instance
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
        now=agent.now,  # type: ignore[attr-defined]  # annotated
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
