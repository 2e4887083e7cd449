"""Admit new agents, many in one statement: those whose name and topic are free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from controlplane.access.audit import AuditEntry, Mutation
from controlplane.database.bulk import copy_rows, recordset
from controlplane.identity.actors import Actor
from controlplane.ids import uuid7
from registry.agents.event_types import AGENT_REGISTERED
from registry.agents.liveness import LivenessPolicy
from registry.agents.states import State
from registry.environments.guarding import make_environments
from registry.joining.registration import Registration
from registry.task_types.models import ServedTaskType


@dataclass(frozen=True, slots=True)
class Newcomer:
    """actor: who registers it, and whose it is then. permit: the digest of the token that may beat for it."""

    registration: Registration
    actor: Actor
    initial: State = State.READY
    permit: bytes | None = None
    id: UUID = field(default_factory=uuid7)


def admit(newcomers: Sequence[Newcomer], policy: LivenessPolicy) -> set[UUID]:
    """Write agents and leases; return the ids of those whose name and topic were free.

    Needs a transaction, which must record their `audit_entry`. Of two with one name the first is admitted.
    """
    make_environments({one.registration.environment for one in newcomers})
    # By name: two such calls cannot wait for each other.
    rows = [_row(one) for one in sorted(newcomers, key=lambda one: one.registration.name)]
    with connection.cursor() as cursor:
        cursor.execute(_ADMIT, _parameters(rows, policy))
        admitted = {row[0] for row in cursor.fetchall()}
    _serve([one for one in newcomers if one.id in admitted])
    return admitted


def audit_entry(one: Newcomer) -> AuditEntry:
    """What the audit log and followers are told of an agent that was admitted."""
    said = one.registration
    data = {"agent_id": str(one.id), "name": said.name, "environment": said.environment}
    return AuditEntry("agent", Mutation(AGENT_REGISTERED, str(one.id), None, said.facts(), data), one.actor)


def _parameters(rows: Sequence[Mapping[str, Any]], policy: LivenessPolicy) -> dict[str, Any]:
    return {
        "rows": recordset(rows),
        "lease": policy.lease.total_seconds(),
        "shortest": policy.shortest_lease().total_seconds(),
    }


def _serve(admitted: Sequence[Newcomer]) -> None:
    served = [
        (one.id, task_type.name, task_type.version)
        for one in admitted
        for task_type in dict.fromkeys(one.registration.task_types)
    ]
    if served:
        copy_rows(ServedTaskType, ("agent_id", "name", "version"), served)


def _row(one: Newcomer) -> dict[str, Any]:
    waits = one.initial is State.REGISTERED
    return {
        **one.registration.facts(),
        "id": one.id,
        "state": one.initial.value,
        "state_reason": "It waits for approval." if waits else "Registered.",
        "registered_by": one.actor.principal_id,
        "permit": one.permit.hex() if one.permit else None,
        "instance_uuid": one.registration.instance_uuid,
    }


# The lease begins with its agent, and with the agent's state: heartbeats look at nothing else.
_ADMIT = """
WITH said AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(rows)s) AS said (
        id uuid, name text, environment text, service_types jsonb, task_types jsonb, cost text,
        topic_name text, resources_available jsonb, labels jsonb, capacity integer, state text,
        state_reason text, registered_by uuid, permit text, instance_uuid uuid
    )
), admitted AS (
    INSERT INTO registry_agent (
        id, name, environment, service_types, task_types, cost, topic_name, resources_available, labels,
        capacity, state, state_reason, registered_by
    )
    SELECT id, name, environment, service_types, task_types, cost, topic_name, resources_available, labels,
        capacity, state, state_reason, registered_by
    FROM said
    ON CONFLICT DO NOTHING
    RETURNING id, environment, state
)
INSERT INTO registry_lease (
    agent_id, renewed_at, expires_at, consumer_lag, state, environment_id, token_digest, instance_uuid
)
SELECT admitted.id, now(),
    now() + interval '1 second' * greatest(%(shortest)s, coalesce(environment.lease_seconds, %(lease)s)),
    0, admitted.state, environment.id, decode(permit, 'hex'), said.instance_uuid
FROM admitted JOIN said USING (id)
JOIN registry_environment AS environment ON environment.name = admitted.environment
RETURNING agent_id
"""
