"""Heartbeats in bulk, for gateways: the usual ones in one statement, all others one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor
from registry.agents.liveness import LivenessPolicy
from registry.agents.rights import AgentRights
from registry.agents.states import after_heartbeat
from registry.heartbeats.record import Heartbeat, record_heartbeat, renewal_of
from registry.heartbeats.renew import HeartbeatRow, Renewal, renew_usual


@dataclass(frozen=True, slots=True)
class RecordingOptions:
    """The parameters of `record_heartbeat` that all heartbeats of a request share."""

    actor: Actor
    rights: AgentRights
    policy: LivenessPolicy
    congestion_lag: int

    def as_arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("actor", "rights", "policy", "congestion_lag")}


def renew_heartbeats(heartbeats: Mapping[UUID, Heartbeat], options: RecordingOptions) -> dict[UUID, Renewal]:
    """Renew the leases of usual heartbeats in one statement; return those renewals.

    Of a report only the digest is used. Each other heartbeat needs `record_each`.
    """
    rows = [_row(agent_id, heartbeat, options.congestion_lag) for agent_id, heartbeat in heartbeats.items()]
    if not rows:
        return {}
    renewals = renew_usual(rows, options.policy, options.rights)
    return {renewal.agent_id: renewal for renewal in renewals}


def record_each(
    heartbeats: Mapping[UUID, Heartbeat], options: RecordingOptions
) -> dict[UUID, Renewal | ControlplaneError]:
    """Record each as `record_heartbeat` does. The error of one agent does not affect the others."""
    return {agent_id: _record(agent_id, heartbeat, options) for agent_id, heartbeat in heartbeats.items()}


def _record(agent_id: UUID, heartbeat: Heartbeat, options: RecordingOptions) -> Renewal | ControlplaneError:
    try:
        return renewal_of(record_heartbeat(agent_id, heartbeat, **options.as_arguments()))
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
