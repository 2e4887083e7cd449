"""Limits of pools by scope. Each change is one transaction with its audit row and event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from controlplane.errors import FieldError, InvalidRequest, LimitReached, UnknownPoolLimit
from controlplane.identity.actors import Actor
from controlplane.ids import uuid7
from controlplane.pools.event_types import POOL_LIMIT_CHANGED
from controlplane.pools.leasing import run_operations
from controlplane.pools.models import Pool, PoolLimit
from controlplane.pools.pools import record
from controlplane.pools.quota_rules import quota_named
from controlplane.pools.storage import lock_pool
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope

_MOST_OF_A_POOL = 5_000


@dataclass(frozen=True, slots=True)
class LimitSpec:
    """What people write of a limit. cap, weight: None to inherit."""

    cap: int | None = None
    guaranteed: int = 0
    weight: int | None = None


@transaction.atomic
def put_limit(
    pool: Pool, scope: Scope, spec: LimitSpec, *, precondition: Precondition | None, actor: Actor
) -> tuple[Pool, PoolLimit]:
    """Set what a pool promises to a scope, and serve its queue. Raises InvalidRequest, VersionMismatch."""
    pool = lock_pool(pool.id)
    check(precondition, pool.version)
    limit = PoolLimit.objects.at(scope).filter(pool=pool).first()
    before = limit_state(limit) if limit else None
    if limit is None:
        if PoolLimit.objects.filter(pool=pool).count() >= _MOST_OF_A_POOL:
            raise LimitReached(f"The pool has {_MOST_OF_A_POOL} limits already. Set one at a wider scope.")
        limit = PoolLimit(pool=pool, **scope.segments)
    limit.cap, limit.guaranteed, limit.weight = spec.cap, spec.guaranteed, spec.weight
    _check(pool, limit)
    limit.save()
    _finish(pool, scope, actor, before, limit_state(limit))
    return pool, limit


@transaction.atomic
def delete_limit(pool: Pool, scope: Scope, *, precondition: Precondition | None, actor: Actor) -> Pool:
    """Remove a limit, and serve the queue. Raises UnknownPoolLimit, VersionMismatch."""
    pool = lock_pool(pool.id)
    check(precondition, pool.version)
    limit = PoolLimit.objects.at(scope).filter(pool=pool).first()
    if limit is None:
        raise UnknownPoolLimit(f"The pool {pool.name} has no limit at {scope}.")
    before = limit_state(limit)
    if limit.override_cap is None:
        limit.delete()
    else:
        limit.cap, limit.guaranteed, limit.weight = None, 0, None
        limit.save()
    _finish(pool, scope, actor, before, None)
    return pool


@transaction.atomic
def set_override_caps(pool_id: UUID, caps: Mapping[Scope, int | None], *, actor: Actor) -> None:
    """Set the caps that overrides make; None removes one. What people set at the pool stays.

    Raises UnknownPool.
    """
    pool = lock_pool(pool_id)
    for scope, cap in caps.items():
        existing = PoolLimit.objects.at(scope).filter(pool=pool).first()
        limit = existing or PoolLimit(pool=pool, **scope.segments)
        before = limit_state(existing) if existing else None
        limit.override_cap = cap
        is_left = not _is_empty(limit)
        after = limit_state(limit) if is_left else None
        if is_left:
            limit.save()
        elif existing:
            existing.delete()
        record(POOL_LIMIT_CHANGED, pool, actor, before=before, after=after, scope=scope)
    # The version stays: an override of a project must not refuse what operators write meanwhile.
    _apply(pool)


def _is_empty(limit: PoolLimit) -> bool:
    return (limit.cap, limit.override_cap, limit.guaranteed, limit.weight) == (None, None, 0, None)


def limit_state(limit: PoolLimit) -> dict[str, Any]:
    """Return a limit as audit records hold it."""
    return {
        "cap": limit.cap,
        "override_cap": limit.override_cap,
        "guaranteed": limit.guaranteed,
        "weight": limit.weight,
    }


def _finish(
    pool: Pool, scope: Scope, actor: Actor, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> None:
    pool.version += 1
    record(POOL_LIMIT_CHANGED, pool, actor, before=before, after=after, scope=scope)
    _apply(pool)


def _apply(pool: Pool) -> None:
    """Have all processes read the limits again, and serve the queue."""
    pool.limits_version = uuid7()
    pool.save(update_fields=["version", "limits_version"])
    run_operations(pool.id, [])


def _check(pool: Pool, limit: PoolLimit) -> None:
    _check_counted(pool, limit)
    if not limit.guaranteed:
        return
    level = pool.terms.fair_level
    if limit.scope.level is not level:
        message = f"Units are guaranteed at the level {pool.fair_level}, at which the pool is fair."
        raise InvalidRequest(message, errors=[FieldError("/guaranteed", "wrong_level", message)])
    if limit.cap is not None and limit.guaranteed > limit.cap:
        message = f"The scope cannot use {limit.guaranteed} guaranteed units with a cap of {limit.cap}."
        raise InvalidRequest(message, errors=[FieldError("/guaranteed", "above_cap", message)])
    others = PoolLimit.objects.filter(pool=pool).exclude(id=limit.id).values_list("guaranteed", flat=True)
    total = limit.guaranteed + sum(others)
    if total > pool.capacity:
        message = f"All limits together would guarantee {total} of {pool.capacity} units."
        raise InvalidRequest(message, errors=[FieldError("/guaranteed", "above_capacity", message)])


def _check_counted(pool: Pool, limit: PoolLimit) -> None:
    """Raise InvalidRequest for a limit of a scope in a quota of things that have no scope."""
    quota = quota_named(pool.name)
    if quota is None or quota.countable.has_scopes or limit.scope == Scope():
        return
    plural, owner = quota.countable.plural, quota.countable.owner
    message = f"{plural[0].upper()}{plural[1:]} have no scope, so a limit of a scope would never hold."
    if owner:
        message += f" Define the quota {quota.countable.quota_name}:<{owner}>, which limits one {owner}."
    raise InvalidRequest(message, errors=[FieldError("?project", "no_scopes", message)])
