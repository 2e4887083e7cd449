"""The statement that renews leases, for Django's connection and, prepared, for the fast path.

The template is `_RENEW`. Its two forms differ in how rows are passed, and in the condition for renewal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from controlplane.database.bulk import recordset
from registry.agents.liveness import LivenessPolicy
from registry.agents.rights import ANY_AGENT, AgentRights
from registry.agents.states import State

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class HeartbeatRow:
    """A heartbeat as a row of the statement.

    state: of the agent after the heartbeat. report: the digest of its report. instance: of its process.
    """

    agent_id: UUID
    state: State
    reported_at: datetime
    consumer_lag: int
    report: bytes | None = None
    instance: UUID | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """A renewed lease, as the agent gets it."""

    agent_id: UUID
    state: str
    renewed_at: datetime
    expires_at: datetime
    generation: int
    configuration_etag: str


def renew_usual(rows: Sequence[HeartbeatRow], policy: LivenessPolicy, rights: AgentRights) -> list[Renewal]:
    """Renew the leases of allowed agents whose state, report and process equal those of their rows."""
    return _renew(rows, policy, {"decided": False, **_rights_parameters(rights)})


def renew_decided(row: HeartbeatRow, policy: LivenessPolicy) -> Renewal:
    """Renew one lease unconditionally. Needs a transaction that has locked the lease's row."""
    (renewal,) = _renew([row], policy, {"decided": True, **_rights_parameters(ANY_AGENT)})
    return renewal


def _rights_parameters(rights: AgentRights) -> dict[str, Any]:
    return {
        "any_agent": rights.every.everything,
        "any_of_teams": list(rights.every.team_ids),
        "own_agent": rights.own.everything,
        "own_of_teams": list(rights.own.team_ids),
        "principal": rights.principal_id,
    }


def _renew(rows: Sequence[HeartbeatRow], policy: LivenessPolicy, conditions: dict[str, Any]) -> list[Renewal]:
    lease, shortest = lease_terms(policy)
    parameters = {"rows": recordset(map(_columns, rows)), "lease": lease, "shortest": shortest, **conditions}
    with connection.cursor() as cursor:
        cursor.execute(_RENEW_BY_CURSOR, parameters)
        return [
            Renewal(
                rows[place - 1].agent_id, rows[place - 1].state.value, now, expires_at, generation, etag or ""
            )
            for place, generation, etag, now, _live_count, expires_at in cursor.fetchall()
        ]


def lease_terms(policy: LivenessPolicy) -> tuple[int, int]:
    """Return the default lease and the shortest lease, in microseconds, for the statement."""
    return policy.lease // _MICROSECOND, policy.shortest_lease() // _MICROSECOND


def _columns(row: HeartbeatRow) -> dict[str, Any]:
    return {
        "agent_id": row.agent_id,
        "reported_at": row.reported_at,
        "consumer_lag": row.consumer_lag,
        "state": row.state.value,
        "report": f"\\x{row.report.hex()}" if row.report else None,
        "instance": row.instance,
    }


# A lease set for the agent or its environment takes precedence; none is shorter than the policy allows.
# The statement's time, not the transaction's: the transaction may have waited for the row.
_RENEW = """
UPDATE registry_lease AS lease
SET renewed_at = statement_timestamp(),
    expires_at = statement_timestamp() + interval '1 microsecond' * greatest({shortest}, coalesce(
        1000000::bigint * coalesce(
            lease.lease_seconds,
            (SELECT lease_seconds FROM registry_environment WHERE id = lease.environment_id)
        ), {lease})),
    reported_at = heartbeat.reported_at, consumer_lag = heartbeat.consumer_lag,
    instance_uuid = coalesce(heartbeat.instance, lease.instance_uuid),
    report_digest = coalesce(heartbeat.report, lease.report_digest),
    vouched_at = CASE WHEN heartbeat.report IS NULL THEN lease.vouched_at
        WHEN lease.vouched_at IS NOT NULL THEN statement_timestamp() END
FROM {heartbeats}
WHERE lease.agent_id = heartbeat.agent_id AND {condition}
RETURNING heartbeat.place, lease.generation,
    (SELECT configuration_etag FROM registry_environment WHERE id = lease.environment_id),
    statement_timestamp(), (SELECT live_count FROM registry_sweeprecord WHERE id = 1), lease.expires_at
"""
_IS_USUAL = """lease.state = heartbeat.state
    AND (heartbeat.instance IS NULL OR heartbeat.instance = lease.instance_uuid)
    AND (heartbeat.report IS NULL OR heartbeat.report = lease.report_digest)"""
# The rows are locked in the order of their keys: two such calls cannot deadlock.
_RENEW_BY_CURSOR = _RENEW.format(
    lease="%(lease)s",
    shortest="%(shortest)s",
    heartbeats="""(
    SELECT row.* FROM ROWS FROM (json_to_recordset(%(rows)s) AS (
        agent_id uuid, reported_at timestamptz, consumer_lag bigint, state text, report bytea, instance uuid
    )) WITH ORDINALITY AS row (agent_id, reported_at, consumer_lag, state, report, instance, place)
    JOIN registry_lease AS locked ON locked.agent_id = row.agent_id
    ORDER BY row.agent_id
    FOR UPDATE OF locked
) AS heartbeat""",
    condition=f"""(%(decided)s OR {_IS_USUAL}
    AND (%(any_agent)s OR EXISTS (
        SELECT FROM registry_agent WHERE id = lease.agent_id AND (
            team_id = ANY(%(any_of_teams)s::uuid[])
            OR registered_by = %(principal)s AND (%(own_agent)s OR team_id = ANY(%(own_of_teams)s::uuid[]))
        )
    )))""",
)
# Authentication and renewal in one: a row with any difference is skipped, and Django finds out why.
# The arrays are in the order of the keys, and the connection's plans keep it.
RENEW_PREPARED = _RENEW.format(
    lease="$8::bigint",
    shortest="$9::bigint",
    heartbeats="""unnest(
    $1::uuid[], $2::bytea[], $3::bigint[], $4::timestamptz[], $5::text[], $6::bytea[], $7::uuid[]
) WITH ORDINALITY AS heartbeat (
    agent_id, token_digest, consumer_lag, reported_at, state, report, instance, place
)""",
    condition=f"""lease.token_digest = heartbeat.token_digest
    AND (lease.token_expires_at IS NULL OR lease.token_expires_at > now())
    AND {_IS_USUAL}""",
).encode()
