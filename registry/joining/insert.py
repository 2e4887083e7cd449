"""Insert new agents in one statement, except those whose name or topic is taken."""

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
from controlplane.pools.quotas import is_defined_sql
from registry.agents.event_types import AGENT_REGISTERED
from registry.agents.liveness import LivenessPolicy
from registry.agents.quotas import AGENTS, check_new_agents
from registry.agents.states import State
from registry.environments.guarding import make_environments
from registry.joining.registration import Registration
from registry.task_types.models import ServedTaskType


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent to insert.

    actor: who registers the agent. token_digest: of the token that may send its heartbeats. team_id: of the
    team that owns the agent; None for the platform.
    """

    registration: Registration
    actor: Actor
    initial: State = State.READY
    token_digest: bytes | None = None
    team_id: UUID | None = None
    id: UUID = field(default_factory=uuid7)


def insert_agents(new_agents: Sequence[NewAgent], policy: LivenessPolicy) -> set[UUID]:
    """Insert agents with their leases; return the ids of those whose name and topic were free.

    Call in a transaction, and record the `audit_entry` of each in it. Of two with one name the first is
    inserted. Raises QuotaExceeded.
    """
    make_environments({new_agent.registration.environment for new_agent in new_agents})
    # Ordered by name, so that concurrent calls cannot deadlock.
    rows = [
        _row(new_agent) for new_agent in sorted(new_agents, key=lambda new_agent: new_agent.registration.name)
    ]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, _parameters(rows, policy))
        inserted = dict(cursor.fetchall())
    if any(inserted.values()):
        check_new_agents(new_agent.team_id for new_agent in new_agents if new_agent.id in inserted)
    _store_task_types([new_agent for new_agent in new_agents if new_agent.id in inserted])
    return set(inserted)


def audit_entry(new_agent: NewAgent) -> AuditEntry:
    """Return the audit entry, and event, of an inserted agent."""
    registration = new_agent.registration
    data = {"agent_id": str(new_agent.id), "name": registration.name, "environment": registration.environment}
    return AuditEntry(
        "agent",
        Mutation(
            AGENT_REGISTERED,
            str(new_agent.id),
            None,
            registration.facts(),
            data,
            team_id=new_agent.team_id,
        ),
        new_agent.actor,
    )


def _parameters(rows: Sequence[Mapping[str, Any]], policy: LivenessPolicy) -> dict[str, Any]:
    return {
        "rows": recordset(rows),
        "lease": policy.lease.total_seconds(),
        "shortest": policy.shortest_lease().total_seconds(),
    }


def _store_task_types(new_agents: Sequence[NewAgent]) -> None:
    rows = [
        (new_agent.id, task_type.name, task_type.version)
        for new_agent in new_agents
        for task_type in dict.fromkeys(new_agent.registration.task_types)
    ]
    if rows:
        copy_rows(ServedTaskType, ("agent_id", "name", "version"), rows)


def _row(new_agent: NewAgent) -> dict[str, Any]:
    needs_approval = new_agent.initial is State.REGISTERED
    return {
        **new_agent.registration.facts(),
        "id": new_agent.id,
        "state": new_agent.initial.value,
        "state_reason": "Waiting for approval." if needs_approval else "Registered.",
        "registered_by": new_agent.actor.principal_id,
        "token_digest": new_agent.token_digest.hex() if new_agent.token_digest else None,
        "instance_uuid": new_agent.registration.instance_uuid,
        "team_id": new_agent.team_id,
    }


# The lease has a copy of the agent's state, because heartbeats read only the lease.
_INSERT = f"""
WITH new_agent AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(rows)s) AS new_agent (
        id uuid, name text, environment text, service_types jsonb, task_types jsonb, cost text,
        topic_name text, resources_available jsonb, labels jsonb, capacity integer, state text,
        state_reason text, registered_by uuid, token_digest text, instance_uuid uuid, team_id uuid
    )
), inserted AS (
    INSERT INTO registry_agent (
        id, name, environment, service_types, task_types, cost, topic_name, resources_available, labels,
        capacity, state, state_reason, registered_by, team_id
    )
    SELECT id, name, environment, service_types, task_types, cost, topic_name, resources_available, labels,
        capacity, state, state_reason, registered_by, team_id
    FROM new_agent
    ON CONFLICT DO NOTHING
    RETURNING id, environment, state
)
INSERT INTO registry_lease (
    agent_id, renewed_at, expires_at, consumer_lag, state, environment_id, token_digest, instance_uuid
)
SELECT inserted.id, now(),
    now() + interval '1 second' * greatest(%(shortest)s, coalesce(environment.lease_seconds, %(lease)s)),
    0, inserted.state, environment.id, decode(new_agent.token_digest, 'hex'), new_agent.instance_uuid
FROM inserted JOIN new_agent USING (id)
JOIN registry_environment AS environment ON environment.name = inserted.environment
RETURNING agent_id, {is_defined_sql(AGENTS)}
"""  # noqa: S608  (SQL of our own)
