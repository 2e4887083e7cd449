"""Recover silent agents, many in one transaction: after a network partition a whole fleet returns at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access.models import Token
from registry.agents.flap_damping import DampingPolicy, FlapRecord, judge_return
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent, Lease
from registry.agents.rights import ANY_AGENT
from registry.agents.states import SILENT, State
from registry.agents.transitions import Transition, move_many
from registry.heartbeats.record import reason_of
from registry.heartbeats.renew import HeartbeatRow, Renewal, renew_usual


@dataclass(frozen=True, slots=True)
class RecoveringAgent:
    """The heartbeat of an agent that may have been silent. token_digest: of its credential."""

    heartbeat: HeartbeatRow
    token_digest: bytes
    request_id: str

    @property
    def agent_id(self) -> UUID:
        return self.heartbeat.agent_id


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    liveness: LivenessPolicy
    damping: DampingPolicy
    congestion_lag: int


@transaction.atomic
def recover_agents(candidates: Sequence[RecoveringAgent], policy: RecoveryPolicy) -> list[Renewal | None]:
    """Do what `record_heartbeat` does for silent agents that return; None where it must decide itself."""
    # Of two heartbeats of one agent, the first counts.
    by_agent = {candidate.agent_id: candidate for candidate in reversed(candidates)}
    # Lock the leases first, in the order of their keys, as heartbeats and the sweep do.
    leases = _permitted_leases(by_agent)
    agents = Agent.objects.filter(state__in=SILENT, drain_reason="").in_bulk(
        [lease.agent_id for lease in leases]
    )
    recovered = {
        lease.agent_id: agents[lease.agent_id]
        for lease in leases
        if lease.agent_id in agents and _is_steady(agents[lease.agent_id], lease, policy.damping)
    }
    if not recovered:
        return [None] * len(candidates)
    move_many(_transitions(recovered, by_agent, policy.congestion_lag))
    rows = [by_agent[agent_id].heartbeat for agent_id in recovered]
    renewals = {renewal.agent_id: renewal for renewal in renew_usual(rows, policy.liveness, ANY_AGENT)}
    return [
        renewals.get(candidate.agent_id) if by_agent[candidate.agent_id] is candidate else None
        for candidate in candidates
    ]


def _permitted_leases(candidates: Mapping[UUID, RecoveringAgent]) -> list[Lease]:
    """Return the leases with a permit (permits.py) for these heartbeats and unchanged reports."""
    is_valid = Q(token_expires_at=None) | Q(token_expires_at__gt=Now())
    leases = Lease.objects.select_for_update().annotate(now=Now()).filter(is_valid, agent_id__in=candidates)
    return [
        lease for lease in leases.order_by("agent_id") if _is_permitted(candidates[lease.agent_id], lease)
    ]


def _is_permitted(candidate: RecoveringAgent, lease: Lease) -> bool:
    return (
        bytes(lease.token_digest or b"") == candidate.token_digest
        and candidate.heartbeat.report in (None, bytes(lease.report_digest or b""))
        and candidate.heartbeat.instance in (None, lease.instance_uuid)
    )


def _is_steady(agent: Agent, lease: Lease, policy: DampingPolicy) -> bool:
    """Return whether the agent returns without a wait; store this return in its flap record."""
    if agent.state != State.UNAVAILABLE:
        return True
    now: datetime = lease.now  # type: ignore[attr-defined]  # annotated
    record = FlapRecord(agent.flap_penalty, agent.flapped_at, agent.steady_since)
    verdict = judge_return(record, unbroken=lease.expires_at >= now, policy=policy, now=now)
    agent.flap_penalty, agent.flapped_at = verdict.record.penalty, verdict.record.at
    agent.steady_since = verdict.record.steady_since
    return not verdict.wait


def _transitions(
    recovered: Mapping[UUID, Agent], candidates: Mapping[UUID, RecoveringAgent], congestion_lag: int
) -> list[Transition]:
    digests = [candidates[agent_id].token_digest for agent_id in recovered]
    actors = dict(Token.objects.filter(digest__in=digests).values_list("digest", "principal__name"))
    return [
        Transition(
            agent,
            candidate.heartbeat.state,
            reason_of(candidate.heartbeat.state, candidate.heartbeat.consumer_lag, congestion_lag),
            actors[candidate.token_digest],
            candidate.request_id,
        )
        for agent, candidate in ((agent, candidates[agent_id]) for agent_id, agent in recovered.items())
    ]
