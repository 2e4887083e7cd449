"""Many heartbeats in one call, for gateways: the usual ones in one statement, the others one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from controlplane.database.bulk import recordset
from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent
from registry.agents.states import after_heartbeat
from registry.heartbeats.record import Heartbeat, record_heartbeat


@dataclass(frozen=True, slots=True)
class Renewed:
    """A heartbeat that was taken: what its sender is told."""

    agent_id: UUID
    state: str
    renewed_at: datetime
    expires_at: datetime
    generation: int
    configuration_etag: str


def renewed(agent: Agent) -> Renewed:
    """The same of an agent whose heartbeat was recorded."""
    lease = agent.lease
    return Renewed(
        agent.id,
        agent.state,
        lease.renewed_at,
        lease.expires_at,
        lease.generation,
        lease.configuration_etag,
    )


def record_heartbeats(
    beats: Mapping[UUID, Heartbeat],
    *,
    actor: Actor,
    any_agent: bool,
    policy: LivenessPolicy,
    congestion_lag: int,
) -> dict[UUID, Renewed | ControlplaneError]:
    """Take each as `record_heartbeat` does. What one agent is refused hinders no other."""
    found: dict[UUID, Renewed | ControlplaneError] = {
        one.agent_id: one for one in _renew_usual(beats, actor, any_agent, policy, congestion_lag)
    }
    for agent_id, heartbeat in beats.items():
        if agent_id not in found:
            found[agent_id] = _exactly(
                agent_id,
                heartbeat,
                actor=actor,
                any_agent=any_agent,
                policy=policy,
                congestion_lag=congestion_lag,
            )
    return found


def _exactly(agent_id: UUID, heartbeat: Heartbeat, **how: Any) -> Renewed | ControlplaneError:
    try:
        return renewed(record_heartbeat(agent_id, heartbeat, **how))
    except ControlplaneError as error:
        return error


def _renew_usual(
    beats: Mapping[UUID, Heartbeat],
    actor: Actor,
    any_agent: bool,
    policy: LivenessPolicy,
    congestion_lag: int,
) -> Sequence[Renewed]:
    rows = [_row(agent_id, beats[agent_id], congestion_lag) for agent_id in sorted(beats)]
    return renew_rows(rows, any_agent=any_agent, principal_id=actor.principal_id, policy=policy)


@transaction.atomic
def renew_rows(
    rows: Sequence[Mapping[str, Any]], *, any_agent: bool, principal_id: UUID | None, policy: LivenessPolicy
) -> Sequence[Renewed]:
    """Renew the leases of all whose state and report stay as these rows say."""
    said: dict[str, Any] = {
        "rows": recordset(rows),
        "any": any_agent,
        "principal": principal_id,
        "lease": policy.lease.total_seconds(),
        "shortest": policy.shortest_lease().total_seconds(),
    }
    with connection.cursor() as cursor:
        cursor.execute(_RENEW, said)
        return [Renewed(*row) for row in cursor.fetchall()]


def _row(agent_id: UUID, beat: Heartbeat, congestion_lag: int) -> dict[str, Any]:
    return {
        "id": str(agent_id),
        "reported_at": beat.reported_at.isoformat(),
        "lag": beat.consumer_lag,
        "state": after_heartbeat(beat.consumer_lag, congestion_lag=congestion_lag).value,
        "report": beat.report.digest.hex() if beat.report else None,
        "instance": beat.instance,
    }


# The rows are locked in the order of their keys: two such calls cannot block each other.
_RENEW = """
WITH said AS (
    SELECT * FROM json_to_recordset(%(rows)s)
        AS said (id uuid, reported_at timestamptz, lag bigint, state text, report text, instance uuid)
), usual AS (
    SELECT said.* FROM said
    JOIN registry_lease AS lease ON lease.agent_id = said.id
    JOIN registry_agent AS agent ON agent.id = said.id
    WHERE lease.state = said.state AND (%(any)s OR agent.registered_by = %(principal)s)
        AND (said.instance IS NULL OR lease.instance_uuid = said.instance)
        AND (said.report IS NULL OR lease.report_digest = decode(said.report, 'hex'))
    ORDER BY said.id
    FOR UPDATE OF lease
)
UPDATE registry_lease AS lease
SET renewed_at = now(), reported_at = usual.reported_at, consumer_lag = usual.lag,
    expires_at = now() + interval '1 second' * greatest(%(shortest)s, coalesce(
        lease.lease_seconds,
        (SELECT lease_seconds FROM registry_environment WHERE id = lease.environment_id),
        %(lease)s
    )),
    vouched_at = CASE WHEN usual.report IS NULL THEN lease.vouched_at
        WHEN lease.vouched_at IS NOT NULL THEN now() END
FROM usual WHERE lease.agent_id = usual.id
RETURNING lease.agent_id, lease.state, lease.renewed_at, lease.expires_at, lease.generation,
    COALESCE((SELECT configuration_etag FROM registry_environment WHERE id = lease.environment_id), '')
"""
