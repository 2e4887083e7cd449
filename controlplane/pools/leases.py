"""Leases as callers see them: which they may read, what limits them, and who holds what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from controlplane.access.models import Principal
from controlplane.database.scoped import within
from controlplane.errors import LeaseLost, UnknownLease
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools.event_types import POOL_REVOKED
from controlplane.pools.leasing import run, run_operations
from controlplane.pools.ledger import Counts, Ledger, Limits, Obstacle, Reason, find_obstacles
from controlplane.pools.models import Pool, PoolLease, PoolUsage
from controlplane.pools.namespace_quotas import NamespaceQuota, namespace_quotas
from controlplane.pools.operations import Release, Released
from controlplane.pools.pools import record
from controlplane.pools.quota_rules import quota_named
from controlplane.pools.quotas import ledger_of
from controlplane.pools.storage import fair_key, limits_of, read_ledger
from controlplane.pools.terms import GrantMode, Lease, LeaseState, competing_scope, lease_key
from controlplane.scopes import Level, Scope

_MOST_HOLDERS = 100


def visible_leases(
    caller: Caller, pool: Pool, action: Action = Action.POOL_READ
) -> QuerySet[PoolLease, PoolLease]:
    """Return the leases of the pool on which the caller may perform the action.

    Callers without `pool.read`, such as agents, change their own leases alone.
    """
    rows = PoolLease.objects.filter(within(caller.scopes_for(action, owner=pool.team_id)), pool=pool)
    if action is Action.POOL_READ:
        return rows
    readable = within(caller.scopes_for(Action.POOL_READ, owner=pool.team_id))
    # An empty condition holds for all rows, but `|` would drop it.
    return rows.filter(readable | Q(holder_id=caller.principal_id)) if readable else rows


def get_lease(caller: Caller, pool: Pool, lease_id: UUID, action: Action = Action.POOL_READ) -> PoolLease:
    """Return a lease on which the caller may perform the action. Raises UnknownLease."""
    lease = visible_leases(caller, pool, action).filter(id=lease_id).first()
    if lease is None:
        raise UnknownLease(f"The pool {pool.name} has no lease {lease_id} that you may use.")
    return lease


@transaction.atomic
def revoke_lease(pool: Pool, lease: PoolLease, *, actor: Actor) -> PoolLease:
    """End a lease, or take a request out of the queue. Raises LeaseLost if it has ended already."""
    (result,) = run_operations(pool.id, [Release(lease.id, state=LeaseState.REVOKED)])
    if not isinstance(result, Released) or result.lease is None:
        raise LeaseLost(f"The lease {lease.id} has ended already: nothing was revoked.")
    record(
        POOL_REVOKED,
        pool,
        actor,
        before={"lease": str(lease.id), "token": lease.token, "units": lease.units},
        scope=lease.scope,
        lease=str(lease.id),
        token=lease.token,
        units=lease.units,
    )
    lease.refresh_from_db()
    return lease


def release_token(caller: Caller, pool: Pool, scope: Scope, token: str, *, epoch: int | None = None) -> bool:
    """Release the lease of a token, if it has one that the caller may end; return whether it had.

    Raises PermissionDenied.
    """
    caller.require(Action.POOL_USE, scope, owner=pool.team_id)
    key = lease_key(scope, token)
    if not visible_leases(caller, pool, Action.POOL_USE).filter(key=key).exists():
        return False
    result = run(pool.id, Release(key=key, epoch=epoch))
    return isinstance(result, Released) and result.lease is not None


def obstacles_of(pool: Pool, scope: Scope, units: int) -> list[Obstacle]:
    """Return what leaves no room for a request at the scope now."""
    limits, ledger = _limits_and_ledger(pool, scope)
    return find_obstacles(pool.terms, limits, ledger, scope, units)


def _limits_and_ledger(pool: Pool, scope: Scope) -> tuple[Limits, Ledger]:
    """Return the limits of a pool, and what the scopes use that decide about a request at the scope."""
    limits = limits_of(pool.id, pool.limits_version)
    scopes = {*scope.ladder(), *(limit.scope for limit in limits.guaranteed())}
    quota = quota_named(pool.name)
    return limits, ledger_of(quota, scopes) if quota else read_ledger(pool.id, scopes)


def names_of(principals: Iterable[UUID | None]) -> dict[UUID | None, str]:
    """Return the names of principals by id."""
    ids = {principal for principal in principals if principal is not None}
    return dict(Principal.objects.filter(id__in=ids).values_list("id", "name")) if ids else {}


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a request in its queue. estimate_seconds: None if no lease of the pool has ended yet."""

    position: int
    estimate_seconds: int | None


def places_of(pool: Pool, leases: Iterable[PoolLease | Lease]) -> dict[UUID, Place]:
    """Return where requests stand among those of their scope; of the pool without fairness. By id."""
    scopes = {lease.id: lease.scope for lease in leases}
    keys = list({fair_key(pool.terms, scope) for scope in scopes.values()})
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, {"pool": pool.id, "keys": keys, "ids": list(scopes)})
        positions = dict(cursor.fetchall())
    shares = _shares(pool, scopes.values())
    return {
        lease_id: Place(
            position, _estimate(pool, shares[competing_scope(pool.terms, scopes[lease_id])], position)
        )
        for lease_id, position in positions.items()
    }


def _estimate(pool: Pool, share: float, position: int) -> int | None:
    """Estimate the wait: the scope's share of the capacity is free once in the mean time of a lease."""
    if pool.mean_hold_seconds is None or not pool.capacity:
        return None
    return ceil(pool.mean_hold_seconds * position / max(pool.capacity * share, 0.001))


def _shares(pool: Pool, scopes: Iterable[Scope]) -> dict[Scope, float]:
    """Return the share of the units of each scope that competes, by the weights of all that do now."""
    terms, limits = pool.terms, limits_of(pool.id, pool.limits_version)
    groups = {competing_scope(terms, scope) for scope in scopes}
    if terms.grant_mode is GrantMode.FAIR:
        rows = PoolUsage.objects.at_level(terms.fair_level).filter(pool=pool).exclude(used=0, waiting=0)
        groups |= {row.scope for row in rows}
    weights = {group: limits.weight(group) for group in groups}
    return {group: weight / sum(weights.values()) for group, weight in weights.items()}


@dataclass(frozen=True, slots=True)
class Rung:
    """A scope that covers a request, with what the pool promises to it and what it uses.

    obstacle: why it leaves no room for the request; None if it does.
    """

    scope: Scope
    cap: int | None
    guaranteed: int
    weight: int
    counts: Counts
    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class PoolExplanation:
    """Whether a request would get its units now, and by which limits.

    general: obstacles of the pool as a whole. holders: scopes that use units, those that use most first.
    namespace: quotas of the Kubernetes namespace in which the scope's work runs.
    """

    ladder: Sequence[Rung]
    general: Sequence[Obstacle]
    holders: Sequence[tuple[Scope, Counts]]
    namespace: Sequence[NamespaceQuota] = ()

    @property
    def is_free(self) -> bool:
        return not self.general and not any(rung.obstacle for rung in self.ladder)


def explain(caller: Caller, pool: Pool, scope: Scope, units: int) -> PoolExplanation:
    """Explain which limits apply to a request at the scope, and who uses the units."""
    limits, ledger = _limits_and_ledger(pool, scope)
    obstacles = find_obstacles(pool.terms, limits, ledger, scope, units)
    caps = {obstacle.scope: obstacle for obstacle in obstacles if obstacle.reason is Reason.CAP}
    ladder = [
        _rung(limits, ledger.counts.get(rung, Counts()), rung, caps.get(rung)) for rung in scope.ladder()
    ]
    general = [obstacle for obstacle in obstacles if obstacle.reason is not Reason.CAP]
    return PoolExplanation(ladder, general, _holders(caller, pool), namespace_quotas(caller, scope))


def _rung(limits: Limits, counts: Counts, scope: Scope, obstacle: Obstacle | None) -> Rung:
    limit = limits.by_scope.get(scope)
    cap, guaranteed = (limit.cap, limit.guaranteed) if limit else (None, 0)
    return Rung(scope, cap, guaranteed, limits.weight(scope), counts, obstacle)


def _holders(caller: Caller, pool: Pool) -> list[tuple[Scope, Counts]]:
    return [
        (row.scope, Counts(row.used, row.waiting))
        for row in usage_by(caller, pool, pool.terms.fair_level)[:_MOST_HOLDERS]
    ]


def usage_by(caller: Caller, pool: Pool, level: Level) -> QuerySet[PoolUsage, PoolUsage]:
    """Return the usage of scopes at a level that the caller may read, those that use most first."""
    scopes = caller.scopes_for(Action.POOL_READ, owner=pool.team_id)
    rows = PoolUsage.objects.at_level(level).filter(within(scopes), pool=pool)
    return rows.exclude(used=0, waiting=0).order_by("-used", "-waiting", "id")


_PLACES = """
SELECT id, position FROM (
    SELECT id, row_number() OVER (PARTITION BY fair_key ORDER BY priority DESC, requested_at, id) AS position
      FROM pools_poollease
     WHERE pool_id = %(pool)s AND state = 'waiting' AND fair_key = ANY(%(keys)s::uuid[])) AS queue
 WHERE id = ANY(%(ids)s::uuid[])
"""
