"""Heartbeats in bulk, for gateways: the usual ones in one statement, all others one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor
from registry.agents.liveness import LivenessPolicy
from registry.agents.rights import AgentRights
from registry.agents.states import after_heartbeat
from registry.heartbeats.record import Heartbeat, record_heartbeat, renewal_of
from registry.heartbeats.renew import HeartbeatRow, Renewal, renew_usual


def record_heartbeats(
    heartbeats: Mapping[UUID, Heartbeat],
    *,
    actor: Actor,
    rights: AgentRights,
    policy: LivenessPolicy,
    congestion_lag: int,
) -> dict[UUID, Renewal | ControlplaneError]:
    """Record each as `record_heartbeat` does. The error of one agent does not affect the others."""
    rows = [_row(agent_id, heartbeats[agent_id], congestion_lag) for agent_id in sorted(heartbeats)]
    renewals = renew_usual(rows, policy, rights)
    results: dict[UUID, Renewal | ControlplaneError] = {renewal.agent_id: renewal for renewal in renewals}
    for agent_id, heartbeat in heartbeats.items():
        if agent_id in results:
            continue
        results[agent_id] = _record_one(
            agent_id,
            heartbeat,
            actor=actor,
            rights=rights,
            policy=policy,
            congestion_lag=congestion_lag,
        )
    return results


def _record_one(agent_id: UUID, heartbeat: Heartbeat, **options: Any) -> Renewal | ControlplaneError:
    try:
        return renewal_of(record_heartbeat(agent_id, heartbeat, **options))
    except ControlplaneError as error:
        return error


def _row(agent_id: UUID, heartbeat: Heartbeat, congestion_lag: int) -> HeartbeatRow:
    return HeartbeatRow(
        agent_id,
        after_heartbeat(heartbeat.consumer_lag, congestion_lag=congestion_lag),
        heartbeat.reported_at,
        heartbeat.consumer_lag,
        heartbeat.report.digest if heartbeat.report else None,
        heartbeat.instance,
    )
