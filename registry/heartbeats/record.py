"""Record one heartbeat. Judged by Postgres' time of receipt; acknowledged after the commit.

Usual heartbeats, which change only the lease, are recorded many at a time (`renew.renew_usual` and
registry/api/heartbeats/fast_path.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from controlplane.errors import AgentRetired, DuplicateInstance, PermissionDenied, UnknownAgent
from controlplane.events import log
from controlplane.identity.actors import Actor
from registry.agents.event_types import AGENT_FLAPPING
from registry.agents.flap_damping import FlapRecord, judge_return
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent, Lease
from registry.agents.policies import damping_policy
from registry.agents.rights import AgentRights
from registry.agents.states import State, after_heartbeat
from registry.agents.transitions import agent_facts, move
from registry.heartbeats.renew import HeartbeatRow, Renewal, renew_decided
from registry.heartbeats.reports import Report, store_report
from registry.joining.name_conflicts import holder_of, note_rival, refusal
from registry.providers import storage as providers
from registry.providers.follow_report import follow_report
from registry.providers.storage import Author


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """reported_at: the agent's own clock, kept to show its skew. consumer_lag: unread messages."""

    reported_at: datetime
    consumer_lag: int
    report: Report | None = None
    # The sending process, if the heartbeat names it.
    instance: UUID | None = None


def record_heartbeat(
    agent_id: UUID,
    heartbeat: Heartbeat,
    *,
    actor: Actor,
    rights: AgentRights,
    policy: LivenessPolicy,
    congestion_lag: int,
) -> Agent:
    """Renew the lease; a silent agent becomes ready again.

    Raises UnknownAgent, AgentRetired, and DuplicateInstance for a process that does not hold the name.
    """
    options = _Options(actor, rights, policy, congestion_lag)
    try:
        agent = _record(agent_id, heartbeat, options)
    except DuplicateInstance as error:
        note_rival(error, actor=actor)
        raise
    if agent.state == State.RETIRED:
        # Only now, after the commit: its heartbeat is refused, and still counts as a sign of life.
        raise AgentRetired(
            "This agent has deregistered or was retired. Register it again: POST /api/v1/agents."
        )
    return agent


@dataclass(frozen=True, slots=True)
class _Options:
    actor: Actor
    rights: AgentRights
    policy: LivenessPolicy
    congestion_lag: int


@transaction.atomic
def _record(agent_id: UUID, heartbeat: Heartbeat, options: _Options) -> Agent:
    """Record it. The lease's row is locked first, here and in the sweep: its holder decides the state."""
    lease = _locked_lease(agent_id)
    agent = lease.agent
    if not options.rights.show(agent):
        raise _unknown()
    if not options.rights.allow(agent):
        raise PermissionDenied(
            "The agent was registered with a different token. Send heartbeats with that token."
        )
    now: datetime = lease.now  # type: ignore[attr-defined]  # annotated
    if heartbeat.instance is not None and holder_of(lease, options.policy).is_other(heartbeat.instance):
        raise refusal(lease, heartbeat.instance, options.policy, now)
    if agent.state == State.RETIRED and not agent.retired_for_silence:
        _renew(agent, replace(heartbeat, report=None), options.policy)
        return agent
    unbroken = lease.expires_at >= now
    _renew(agent, heartbeat, options.policy)
    if heartbeat.report and heartbeat.report.digest != bytes(lease.report_digest or b""):
        _store_report(agent, heartbeat.report, options)
    is_back = agent.state != State.UNAVAILABLE or _is_back(agent, unbroken, options)
    if is_back and agent.state != State.REGISTERED:
        _apply_state(agent, heartbeat, options)
    return agent


def _store_report(agent: Agent, report: Report, options: _Options) -> None:
    store_report(agent.id, report)
    locked_agent = providers.load_locked_agent(agent, agent.lease, agent.now)  # type: ignore[attr-defined]  # annotated
    author = Author(options.actor.name, options.actor.request_id)
    if follow_report(locked_agent, report.parts, author=author, policy=options.policy):
        Lease.objects.filter(agent_id=agent.id).update(report_digest=None)


def _apply_state(agent: Agent, heartbeat: Heartbeat, options: _Options) -> None:
    new = after_heartbeat(
        heartbeat.consumer_lag, congestion_lag=options.congestion_lag, draining=bool(agent.drain_reason)
    )
    reason = reason_of(new, heartbeat.consumer_lag, options.congestion_lag)
    move(agent, new, reason=reason, actor=options.actor.name, request_id=options.actor.request_id)


def _unknown() -> UnknownAgent:
    return UnknownAgent("There is no agent with this id. Register it again: POST /api/v1/agents.")


def _locked_lease(agent_id: UUID) -> Lease:
    leases = Lease.objects.select_for_update(of=("self",)).select_related("environment").annotate(now=Now())
    lease = leases.filter(agent_id=agent_id).first()
    if lease is None:
        raise _unknown()
    # In a second query: joined to the lock, it would be as before the wait for a concurrent sweep.
    lease.agent = Agent.objects.get(id=agent_id)
    lease.agent.lease = lease
    lease.agent.now = lease.now  # type: ignore[attr-defined]  # as AgentQuerySet.shown has it
    return lease


def _renew(agent: Agent, heartbeat: Heartbeat, policy: LivenessPolicy) -> None:
    row = HeartbeatRow(
        agent.id,
        State(agent.state),
        heartbeat.reported_at,
        heartbeat.consumer_lag,
        heartbeat.report.digest if heartbeat.report else None,
        heartbeat.instance,
    )
    renewal = renew_decided(row, policy)
    agent.lease.renewed_at, agent.lease.expires_at = renewal.renewed_at, renewal.expires_at
    agent.lease.reported_at, agent.lease.consumer_lag = heartbeat.reported_at, heartbeat.consumer_lag


def renewal_of(agent: Agent) -> Renewal:
    """Return the renewal of an agent after its heartbeat, with its new state."""
    lease = agent.lease
    return Renewal(
        agent.id,
        agent.state,
        lease.renewed_at,
        lease.expires_at,
        lease.generation,
        lease.configuration_etag,
    )


def _is_back(agent: Agent, unbroken: bool, options: _Options) -> bool:
    """Judge and store the return of a silent agent. A flapping one must first send heartbeats for a while."""
    record = FlapRecord(agent.flap_penalty, agent.flapped_at, agent.steady_since)
    now: datetime = agent.now  # type: ignore[attr-defined]  # annotated
    verdict = judge_return(record, unbroken=unbroken, policy=damping_policy(options.policy), now=now)
    agent.flap_penalty, agent.flapped_at = verdict.record.penalty, verdict.record.at
    agent.steady_since = verdict.record.steady_since
    if verdict.wait:
        agent.state_reason = (
            f"Returned too often; heartbeats are required for another {verdict.wait.seconds + 1} s."
        )
    agent.save(update_fields=["flap_penalty", "flapped_at", "steady_since", "state_reason"])
    if verdict.wait and verdict.record.at == now:
        _announce_flapping(agent, options.actor)
    return not verdict.wait


def _announce_flapping(agent: Agent, actor: Actor) -> None:
    """Write the event of a wait that begins now."""
    data = {**agent_facts(agent), "reason": agent.state_reason}
    log.append(
        AGENT_FLAPPING,
        "agent",
        str(agent.id),
        data=data,
        actor=actor.name,
        request_id=actor.request_id,
        team_id=agent.team_id,
    )


def reason_of(state: State, consumer_lag: int, congestion_lag: int) -> str:
    if state is State.CONGESTED:
        return f"{consumer_lag} unread messages; congested from {congestion_lag}."
    if state is State.DRAINING:
        return "Heartbeats arrive; draining, as requested before."
    return "Heartbeats arrive."
