"""Pools as people define them. Each change is one transaction with its audit row and event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Q, QuerySet

from controlplane.access import audit
from controlplane.access.team_models import Team
from controlplane.database.bulk import recordset
from controlplane.errors import FieldError, InvalidRequest, LimitReached, NameTaken, StillInUse, UnknownPool
from controlplane.events.types import EventType
from controlplane.formats.counts import counted
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools import event_types, quota_rules, quotas
from controlplane.pools.leasing import run_operations
from controlplane.pools.models import Pool, PoolLease, PoolUsage
from controlplane.pools.quota_rules import Quota, quota_named
from controlplane.pools.storage import fair_key, limits_of, lock_pool
from controlplane.pools.terms import LIVE, NAME, RESERVED_ENDINGS, LeaseState
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope

_MOST_POOLS = 2_000


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """What people write of a pool."""

    capacity: int
    title: str = ""
    unit: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    max_units_per_lease: int = 1_000_000
    lease_seconds: int = 300
    max_hold_seconds: int = 86_400
    grant_mode: str = "fair"
    fair_level: str = "project"
    queue_limit: int = 10_000
    is_open: bool = True


FIELDS = tuple(PoolSpec.__dataclass_fields__)


def visible_pools(caller: Caller, action: Action = Action.POOL_READ) -> QuerySet[Pool]:
    """Return the pools on which the caller may perform the action at some scope."""
    return Pool.objects.for_caller(caller, action).select_related("team")


def of_kind(rows: QuerySet[Pool], kind: str) -> QuerySet[Pool]:
    """Return the quotas, or the pools that are none."""
    is_reserved = Q(name__startswith=quota_rules.PREFIX)
    return rows.filter(is_reserved if kind == "quota" else ~is_reserved)


def get_pool(caller: Caller, name: str, action: Action = Action.POOL_READ) -> Pool:
    """Return a pool on which the caller may perform the action. Raises UnknownPool, PermissionDenied."""
    readable = visible_pools(caller) if action is Action.POOL_WRITE else visible_pools(caller, action)
    pool = readable.filter(name=name).first()
    if pool is None:
        raise UnknownPool(
            f"There is no pool {name[:80]!r}. `GET /api/v1/pools` lists those that you may read."
        )
    if action is Action.POOL_WRITE:
        caller.require(action, owner=pool.team_id)
    if action is Action.POOL_USE:
        check_leasable(pool.name)
    return pool


def check_leasable(name: str) -> None:
    """Raise InvalidRequest for a quota: what exists uses it, and nobody leases its units."""
    if quota := quota_named(name):
        message = f"{name} is a quota: it counts the {quota.countable.plural} that exist and has no leases."
        raise InvalidRequest(message, errors=[FieldError("path:pool", "is_quota", message)])


def usage_of(pools: Iterable[Pool]) -> dict[UUID, PoolUsage]:
    """Return the units in use and the requests of each pool as a whole."""
    return {
        row.pool_id: row for row in PoolUsage.objects.at(Scope()).filter(pool__in=[pool.id for pool in pools])
    }


def usage_now(pool: Pool) -> PoolUsage | None:
    """Return the units in use of a pool as a whole; of a quota, counted now."""
    quota, row = quota_named(pool.name), usage_of([pool]).get(pool.id)
    if quota is None:
        return row
    return PoolUsage(pool=pool, used=quotas.ledger_of(quota, [Scope()]).used(Scope()))


@transaction.atomic
def create_pool(name: str, spec: PoolSpec, *, team: Team | None, actor: Actor) -> Pool:
    """Create a pool, or a quota by its reserved name. Raises InvalidRequest, NameTaken, LimitReached."""
    _check_name(name)
    quotas.check_quota_name(name)
    _check_owner(name, team)
    if Pool.objects.count() >= _MOST_POOLS:
        raise LimitReached(f"There are {_MOST_POOLS} pools already. Delete one that nobody needs.")
    pool = Pool(name=name, team=team)
    _fill(pool, spec)
    try:
        with transaction.atomic():
            pool.save()
    except IntegrityError as error:
        raise NameTaken(f"There is a pool named {name!r} already. Choose another name.") from error
    quotas.recount_pool(pool)
    record(event_types.POOL_CREATED, pool, actor, after=pool_state(pool), capacity=pool.capacity)
    return pool


@transaction.atomic
def change_pool(pool: Pool, spec: PoolSpec, *, precondition: Precondition | None, actor: Actor) -> Pool:
    """Change a pool, and serve its queue. Leases stay, also those above a lower capacity.

    Raises InvalidRequest, VersionMismatch, UnknownPool.
    """
    pool = lock_pool(pool.id)
    check(precondition, pool.version)
    before = pool_state(pool)
    reorders = (pool.grant_mode, pool.fair_level) != (spec.grant_mode, spec.fair_level)
    _fill(pool, spec)
    _check_guarantees(pool)
    pool.version += 1
    pool.save(update_fields=[*FIELDS, "version"])
    if reorders:
        _reorder_queue(pool)
    record(
        event_types.POOL_CHANGED,
        pool,
        actor,
        before=before,
        after=pool_state(pool),
        capacity=pool.capacity,
    )
    run_operations(pool.id, [])
    return pool


@transaction.atomic
def delete_pool(pool: Pool, *, precondition: Precondition | None, force: bool, actor: Actor) -> None:
    """Delete a pool with its limits and leases. Raises VersionMismatch, StillInUse without `force`."""
    pool = lock_pool(pool.id)
    check(precondition, pool.version)
    live = PoolLease.objects.filter(pool=pool, state__in=[state.value for state in LIVE])
    held, waiting = (
        live.filter(state=state.value).count() for state in (LeaseState.GRANTED, LeaseState.WAITING)
    )
    if (held or waiting) and not force:
        message = (
            f"The pool {pool.name} has {counted(held, 'lease')} and {counted(waiting, 'waiting request')}."
        )
        raise StillInUse(
            f"{message} Close it with is_open=false and wait, or delete it with force=true.",
            leases=held,
            waiting=waiting,
        )
    record(event_types.POOL_REMOVED, pool, actor, before=pool_state(pool))
    pool.delete()


def pool_state(pool: Pool) -> dict[str, Any]:
    """Return a pool as audit records hold it."""
    return {"name": pool.name, **{name: getattr(pool, name) for name in FIELDS}}


def record(
    event_type: EventType,
    pool: Pool,
    actor: Actor,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    scope: Scope = Scope(),
    **data: Any,
) -> None:
    """Write the audit row and the event of a change of a pool."""
    audit.record(
        event_type,
        "pool",
        str(pool.id),
        actor=actor,
        before=before,
        after=after,
        data={"pool": pool.name, **data},
        scope=scope,
        team_id=pool.team_id,
    )


def _fill(pool: Pool, spec: PoolSpec) -> None:
    if quota := quota_named(pool.name):
        spec = _quota_spec(quota, spec)
    for name in FIELDS:
        value = getattr(spec, name)
        setattr(pool, name, dict(value) if name == "labels" else value)


def _quota_spec(quota: Quota, spec: PoolSpec) -> PoolSpec:
    """Return the settings of a quota: those of leases, which it has not, are the same for all quotas."""
    return replace(
        spec,
        title=spec.title or quota.title,
        unit=quota.countable.unit,
        max_units_per_lease=1_000_000,
        lease_seconds=0,
        max_hold_seconds=0,
        grant_mode="free",
        queue_limit=0,
    )


def _check_owner(name: str, team: Team | None) -> None:
    """Raise InvalidRequest for a quota of a team, whose members could then limit others or lift it."""
    if team is not None and quota_named(name):
        message = (
            f"Quotas belong to the platform, not to a team. The name {name} says whose things it counts."
        )
        raise InvalidRequest(message, errors=[FieldError("/team", "not_allowed", message)])


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name) or name.endswith(RESERVED_ENDINGS):
        message = (
            "The name of a pool has up to 255 lower-case letters, digits, `:`, `.`, `_` and `-`, begins and "
            "ends with a letter or digit, and does not end with `:explain`."
        )
        raise InvalidRequest(message, errors=[FieldError("path:pool", "invalid", message)])


def _check_guarantees(pool: Pool) -> None:
    """Raise InvalidRequest if the pool cannot keep what its limits guarantee."""
    guaranteed = limits_of(pool.id, pool.limits_version).guaranteed()
    total = sum(limit.guaranteed for limit in guaranteed)
    if total > pool.capacity:
        message = (
            f"The limits of the pool guarantee {counted(total, 'unit')}, which is more than {pool.capacity}."
        )
        raise InvalidRequest(message, errors=[FieldError("/capacity", "below_guarantees", message)])
    level = pool.terms.fair_level
    if any(limit.scope.level is not level for limit in guaranteed):
        message = "Limits with guaranteed units are at another level. Remove these first."
        raise InvalidRequest(message, errors=[FieldError("/fair_level", "has_guarantees", message)])


def _reorder_queue(pool: Pool) -> None:
    """Have waiting requests compete at the pool's new level."""
    waiting = PoolLease.objects.filter(pool=pool, state=LeaseState.WAITING.value)
    rows = [{"id": str(lease.id), "fair": str(fair_key(pool.terms, lease.scope))} for lease in waiting]
    with connection.cursor() as cursor:
        cursor.execute(_REORDER, [recordset(rows)])


_REORDER = """
UPDATE pools_poollease lease SET fair_key = moved.fair
  FROM json_to_recordset(%s) AS moved(id uuid, fair uuid) WHERE lease.id = moved.id
"""
