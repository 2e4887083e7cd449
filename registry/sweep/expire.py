"""One step of the sweep: expire agents in a range of the lease table, in one short transaction."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction
from prometheus_client import Histogram

from controlplane.events import log
from controlplane.identity.actors import system
from registry.agents.event_types import BY_STATE
from registry.agents.states import LIVE, State
from registry.agents.transitions import transition_entry

_ACTOR = system("sweep").name
DETECTION_SECONDS = Histogram(
    "cp_detection_seconds",
    "From the end of an agent's lease until the agent is marked unavailable or unknown.",
    # The second: the objective.
    buckets=(5, 15, 60),
)


class _ExpiredAgent(NamedTuple):
    """block: of the lease table, with the agent's lease. late: seconds since the lease ended."""

    id: UUID
    state: str
    name: str
    environment: str
    old: str
    reason: str
    team_id: UUID | None
    block: int
    late: float


@transaction.atomic
def expire_batch(
    between: tuple[str, str], rows: int, *, judged_at: datetime, grace: timedelta, gap: timedelta
) -> tuple[int, int]:
    """Expire agents whose lease has ended, and record events; return their number and the last block.

    Locked rows are skipped.

    between: the ctid of the first row, and of the first row out of range. judged_at: when the guards were
    judged; a lease that ended later is left to the next sweep. The statement itself checks all other
    conditions, because a delayed process must not act on outdated ones.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _EXPIRE,
            {
                "first": between[0],
                "end": between[1],
                "rows": rows,
                "judged_at": judged_at,
                "grace": grace.total_seconds(),
                "gap": gap.total_seconds(),
                "live": [state.value for state in LIVE],
                "unknown": State.UNKNOWN.value,
                "unavailable": State.UNAVAILABLE.value,
            },
        )
        expired = [_ExpiredAgent(*row) for row in cursor.fetchall()]
    if expired:
        _announce(expired)
        transaction.on_commit(lambda: _measure(expired))
    return len(expired), max((agent.block for agent in expired), default=0)


def _measure(expired: list[_ExpiredAgent]) -> None:
    for agent in expired:
        # An unknown agent was found before; a guard held its mark back.
        if agent.old in LIVE:
            DETECTION_SECONDS.observe(max(agent.late, 0.0))


def _announce(expired: list[_ExpiredAgent]) -> None:
    log.append_each(
        [
            log.Entry(
                BY_STATE[State(agent.state)],
                "agent",
                str(agent.id),
                transition_entry(agent, agent.old, agent.reason),
                _ACTOR,
                team_id=agent.team_id,
            )
            for agent in expired
        ]
    )


# `transitions.move` for many agents: changes only states that still equal the lease's copy. `due` reads one
# table without a join, so its rows come in physical order.
_EXPIRE = """
WITH engaged AS (
    SELECT id, name = '' AS fleet FROM registry_environment WHERE guard_engaged_at IS NOT NULL
), due AS (
    SELECT lease.agent_id, lease.state, lease.renewed_at, lease.expires_at,
        (lease.ctid::text::point)[0]::bigint AS block,
        EXISTS (SELECT FROM engaged WHERE fleet OR id = lease.environment_id) AS guarded
    FROM registry_lease AS lease
    WHERE lease.ctid >= %(first)s::tid AND lease.ctid < %(end)s::tid AND lease.expires_at < now()
        AND lease.expires_at < %(judged_at)s
        AND (lease.state = ANY(%(live)s) OR lease.state = %(unknown)s
            AND NOT EXISTS (SELECT FROM engaged WHERE fleet OR id = lease.environment_id))
        AND (
            SELECT last_sweep_at >= now() - %(gap)s * interval '1 second'
                AND reachable_since
                    + greatest(%(grace)s * interval '1 second', lease.expires_at - lease.renewed_at) < now()
            FROM registry_sweeprecord WHERE id = 1
        )
    LIMIT %(rows)s
    FOR UPDATE OF lease SKIP LOCKED
)
UPDATE registry_agent AS agent
SET state = CASE WHEN due.guarded THEN %(unknown)s ELSE %(unavailable)s END,
    state_since = now(),
    state_reason = 'No heartbeat since '
        || to_char(due.renewed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC; '
        || CASE WHEN due.guarded THEN 'too many agents are silent, so the cause may be the control plane.'
            ELSE 'the lease expired.' END
FROM due
WHERE agent.id = due.agent_id AND agent.state = due.state
RETURNING agent.id, agent.state, agent.name, agent.environment, due.state, agent.state_reason,
    agent.team_id, due.block, extract(epoch FROM now() - due.expires_at)::float8
"""
