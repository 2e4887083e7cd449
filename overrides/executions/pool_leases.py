"""Units of pools that ended executions of Flyte still hold: FlytePropeller may have lost their release.

Its tokens are `ex:<project>:<domain>:<execution>-<generated task name>`, and executions have names with
hyphens too: of all known executions that a token may name, the one with the longest name counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from uuid import UUID

from django.db import connection

from controlplane.database.bulk import recordset
from controlplane.errors import UnknownPool
from controlplane.pools.leasing import run_operations
from controlplane.pools.models import PoolLease
from controlplane.pools.operations import Release
from controlplane.pools.terms import LIVE, Door
from overrides.executions.phases import Subject, is_terminal

# Of one run; the oldest first.
_MOST = 5_000


def release_of_ended_executions() -> int:
    """Release the leases of executions that have ended; return how many."""
    ended: dict[UUID, list[UUID]] = defaultdict(list)
    for pool_id, lease_id in _ended_leases():
        ended[pool_id].append(lease_id)
    for pool_id, lease_ids in ended.items():
        try:
            run_operations(pool_id, [Release(lease_id) for lease_id in lease_ids])
        except UnknownPool:  # deleted meanwhile, with its leases
            continue
    return sum(map(len, ended.values()))


def names_in(token: str) -> list[str]:
    """Return the names of executions that the token may be of, the longest first. Pure."""
    rest = token.split(":", 3)[-1]
    places = [place for place, character in enumerate(rest) if character == "-" and place]
    return [rest[:place] for place in reversed(places)]


def _ended_leases() -> Iterator[tuple[UUID, UUID]]:
    leases = list(
        PoolLease.objects.filter(door=Door.REDIS.value, state__in=[state.value for state in LIVE])
        .exclude(project="")
        .order_by("requested_at")[:_MOST]
    )
    phases = _phases_of(leases)
    for lease in leases:
        names = ((lease.project, lease.domain, name) for name in names_in(lease.token))
        phase = next((phases[name] for name in names if name in phases), "")
        if is_terminal(Subject.WORKFLOW, phase):
            yield lease.pool_id, lease.id


def _phases_of(leases: list[PoolLease]) -> dict[tuple[str, str, str], str]:
    """Return the phases of all executions that the leases may be of, by project, domain and name."""
    rows = [
        {"p": lease.project, "d": lease.domain, "n": name}
        for lease in leases
        for name in names_in(lease.token)
    ]
    with connection.cursor() as cursor:
        cursor.execute(_PHASES, [recordset(rows)])
        return {(project, domain, name): phase for project, domain, name, phase in cursor.fetchall()}


_PHASES = """
SELECT DISTINCT execution.project, execution.domain, execution.name, execution.phase
  FROM json_to_recordset(%s) AS named(p text, d text, n text)
  JOIN flyte_execution execution
    ON execution.project = named.p AND execution.domain = named.d AND execution.name = named.n
"""
