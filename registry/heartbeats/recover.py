"""Take silent agents back, many in one transaction: after a network split a whole fleet is back at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access.models import Token
from controlplane.database.bulk import recordset
from controlplane.events import log
from registry.agents.event_types import BY_STATE
from registry.agents.flap_damping import DampingPolicy, FlapRecord, returning
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent, Lease
from registry.agents.states import SILENT, State, after_heartbeat
from registry.heartbeats.record import reason_of
from registry.heartbeats.renew import Renewed, renew_rows


@dataclass(frozen=True, slots=True)
class Returner:
    """A heartbeat, perhaps of a silent agent. digest: of its token. report: of its report, if it has one.

    instance: the process that sends it, if it says so.
    """

    agent_id: UUID
    digest: bytes
    reported_at: datetime
    consumer_lag: int
    report: bytes | None
    request_id: str
    instance: UUID | None = None


@dataclass(frozen=True, slots=True)
class ReturnPolicy:
    liveness: LivenessPolicy
    damping: DampingPolicy
    congestion_lag: int


@dataclass(frozen=True, slots=True)
class _Back:
    said: Returner
    agent: Agent
    state: State
    flaps: FlapRecord


@transaction.atomic
def take_back(returners: Sequence[Returner], policy: ReturnPolicy) -> list[Renewed | None]:
    """Do what `record_heartbeat` does for silent agents that are back; None where that must judge."""
    said = {one.agent_id: one for one in reversed(returners)}
    # The leases first, in the order of their keys, as heartbeats and the sweep do.
    leases = _permitted(said)
    agents = Agent.objects.filter(state__in=SILENT, drain_reason="").in_bulk([one.agent_id for one in leases])
    judged = [
        _judge(said[lease.agent_id], agents[lease.agent_id], lease, policy)
        for lease in leases
        if lease.agent_id in agents
    ]
    backs = [one for one in judged if one is not None]
    if not backs:
        return [None] * len(returners)
    _move(backs, policy)
    renewed = renew_rows(
        [_beat(one) for one in backs], any_agent=True, principal_id=None, policy=policy.liveness
    )
    found = {one.agent_id: one for one in renewed}
    return [found.get(one.agent_id) if said[one.agent_id] is one else None for one in returners]


def _permitted(said: dict[UUID, Returner]) -> list[Lease]:
    """The leases whose permits (permits.py) these heartbeats hold, with no news in their reports."""
    held = Q(token_expires_at=None) | Q(token_expires_at__gt=Now())
    leases = Lease.objects.select_for_update().annotate(now=Now()).filter(held, agent_id__in=said)
    return [
        lease
        for lease in leases.order_by("agent_id")
        if bytes(lease.token_digest or b"") == said[lease.agent_id].digest
        and said[lease.agent_id].report in (None, bytes(lease.report_digest or b""))
        and said[lease.agent_id].instance in (None, lease.instance_uuid)
    ]


def _judge(said: Returner, agent: Agent, lease: Lease, policy: ReturnPolicy) -> _Back | None:
    now: datetime = lease.now  # type: ignore[attr-defined]  # annotated
    state = after_heartbeat(said.consumer_lag, congestion_lag=policy.congestion_lag)
    flaps = FlapRecord(agent.flap_penalty, agent.flapped_at, agent.steady_since)
    if agent.state == State.UNAVAILABLE:
        judged = returning(flaps, unbroken=lease.expires_at >= now, policy=policy.damping, now=now)
        if judged.wait:
            return None
        flaps = judged.record
    return _Back(said, agent, state, flaps)


def _move(backs: Sequence[_Back], policy: ReturnPolicy) -> None:
    """State, flaps and events. Whoever holds the lease decides the state: nobody has changed it meanwhile."""
    names = dict(
        Token.objects.filter(digest__in=[one.said.digest for one in backs]).values_list(
            "digest", "principal__name"
        )
    )
    reasons = [reason_of(one.state, one.said.consumer_lag, policy.congestion_lag) for one in backs]
    rows = recordset(_moved(one, reason) for one, reason in zip(backs, reasons, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, {"rows": rows})
    log.append_each(
        [_entry(one, reason, names[one.said.digest]) for one, reason in zip(backs, reasons, strict=True)]
    )


def _moved(one: _Back, reason: str) -> dict[str, Any]:
    return {
        "id": one.agent.id,
        "state": one.state.value,
        "reason": reason,
        "penalty": one.flaps.penalty,
        "flapped_at": one.flaps.at,
        "steady_since": one.flaps.steady_since,
    }


def _entry(one: _Back, reason: str, actor: str) -> log.Entry:
    data = {
        "agent_id": str(one.agent.id),
        "name": one.agent.name,
        "environment": one.agent.environment,
        "from": one.agent.state,
        "reason": reason,
    }
    event_type = BY_STATE[one.state]
    return log.Entry(event_type, "agent", str(one.agent.id), data, actor, request_id=one.said.request_id)


def _beat(one: _Back) -> dict[str, Any]:
    return {
        "id": one.agent.id,
        "reported_at": one.said.reported_at,
        "lag": one.said.consumer_lag,
        "state": one.state.value,
        "report": one.said.report.hex() if one.said.report else None,
    }


_MOVE = """
UPDATE registry_agent AS agent
SET state = back.state, state_reason = back.reason, state_since = now(), flap_penalty = back.penalty,
    flapped_at = back.flapped_at, steady_since = back.steady_since
FROM json_to_recordset(%(rows)s) AS back (
    id uuid, state text, reason text, penalty float8, flapped_at timestamptz, steady_since timestamptz
)
WHERE agent.id = back.id
"""
