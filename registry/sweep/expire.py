"""One step of the sweep: mark some agents of one range of the lease table, in one short transaction."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction

from controlplane.events import log
from controlplane.identity.actors import system
from controlplane.scopes import Scope
from registry.agents.event_types import BY_STATE
from registry.agents.states import LIVE, State
from registry.agents.transitions import transition_entry

_ACTOR = system("sweep").name
_NOWHERE = Scope()


class _ExpiredAgent(NamedTuple):
    """block: of the lease table, where the agent's lease is."""

    id: UUID
    state: str
    name: str
    environment: str
    old: str
    reason: str
    block: int


@transaction.atomic
def expire_batch(
    between: tuple[str, str], rows: int, *, seen: datetime, grace: timedelta, gap: timedelta
) -> tuple[int, int]:
    """Mark agents whose lease ran out, and say so; return how many, and the block of the last one.

    Rows in use are skipped.

    between: the places (ctid) of the first row and of the first that is out of range. seen: when the guards
    were judged; a lease that ended later is judged by the next sweep. Everything else that could forbid it is
    asked in the same statement: a sweeper that slept must not act on what it knew.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _MARK,
            {
                "first": between[0],
                "end": between[1],
                "rows": rows,
                "seen": seen,
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
    return len(expired), max((agent.block for agent in expired), default=0)


def _announce(expired: list[_ExpiredAgent]) -> None:
    log.append_many(
        [
            (
                BY_STATE[State(agent.state)],
                str(agent.id),
                transition_entry(agent, agent.old, agent.reason),
                _NOWHERE,
            )
            for agent in expired
        ],
        object_type="agent",
        actor=_ACTOR,
    )


# `transitions.move` for many at once: only a state that still is what the lease says is changed. `due` reads
# one table and joins none, so its rows come in the order of their places.
_MARK = """
WITH engaged AS (
    SELECT id, name = '' AS fleet FROM registry_environment WHERE guard_engaged_at IS NOT NULL
), due AS (
    SELECT lease.agent_id, lease.state, lease.renewed_at, (lease.ctid::text::point)[0]::bigint AS block,
        EXISTS (SELECT FROM engaged WHERE fleet OR id = lease.environment_id) AS guarded
    FROM registry_lease AS lease
    WHERE lease.ctid >= %(first)s::tid AND lease.ctid < %(end)s::tid AND lease.expires_at < now()
        AND lease.expires_at < %(seen)s
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
        || CASE WHEN due.guarded THEN 'with too many others, so it may be us.' ELSE 'the lease ran out.' END
FROM due
WHERE agent.id = due.agent_id AND agent.state = due.state
RETURNING agent.id, agent.state, agent.name, agent.environment, due.state, agent.state_reason,
    due.block
"""
