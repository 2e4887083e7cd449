"""Leases for a client of the Redis protocol, whose tokens have no renewals."""

from __future__ import annotations

from controlplane.access.authentication import caller_of_read
from controlplane.errors import LimitReached, UnknownPool
from controlplane.identity.actors import system
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools import leasing
from controlplane.pools.leases import release_token
from controlplane.pools.models import Pool
from controlplane.pools.operations import Acquire, Granted
from controlplane.pools.pools import PoolSpec, check_leasable, create_pool, usage_of
from controlplane.pools.redis_door.allocation_tokens import scope_of
from controlplane.pools.terms import Door
from controlplane.scopes import Scope

_ACTOR = system("pools")
# Of pools that were made here, of which a client with a mistake could ask for any number.
_TITLE = "Made when Flyte asked for it"
_MOST_MADE = 100


def authenticate(secret: str) -> Caller:
    """Return the caller of a token, with its rights as they are now. Raises NotAuthenticated."""
    caller, _ = caller_of_read(f"Bearer {secret}")
    return caller


def acquire(caller: Caller, name: str, token: str, *, default_capacity: int) -> bool:
    """Lease one unit for a token, or queue; return whether it has the unit.

    default_capacity: of a pool that nobody has defined; 0: it is closed until somebody does.
    Raises PermissionDenied, InvalidScope, InvalidRequest.
    """
    scope = scope_of(token)
    pool = _pool(caller, name, scope, default_capacity)
    caller.require(Action.POOL_USE, scope, owner=pool.team_id)
    # Propeller asks again at each evaluation, every 10 to 30 s.
    request = Acquire(
        token,
        scope,
        lease_seconds=0,
        is_queued=True,
        holder_id=caller.principal_id,
        door=Door.REDIS,
        sees_others=caller.verdict(Action.POOL_READ, scope, pool.team_id).allowed,
    )
    result = leasing.run(pool.id, request)
    return isinstance(result, Granted)


def release(caller: Caller, name: str, token: str) -> bool:
    """Release the unit of a token; return whether it had one. Raises PermissionDenied, InvalidScope."""
    pool = Pool.objects.for_caller(caller, Action.POOL_USE).filter(name=name).first()
    return pool is not None and release_token(caller, pool, scope_of(token), token)


def count(caller: Caller, name: str) -> int:
    """Return the units in use. Raises UnknownPool."""
    pool = Pool.objects.for_caller(caller, Action.POOL_READ).filter(name=name).first()
    if pool is None:
        raise UnknownPool(f"There is no pool {name[:80]!r}.")
    usage = usage_of([pool]).get(pool.id)
    return usage.used if usage else 0


def _pool(caller: Caller, name: str, scope: Scope, default_capacity: int) -> Pool:
    """Return the pool with this name. One that does not exist is made, for an operator to define.

    Raises PermissionDenied, InvalidRequest, LimitReached.
    """
    # A quota that is made here would limit everybody.
    check_leasable(name)
    pool = Pool.objects.for_caller(caller, Action.POOL_USE).filter(name=name).first()
    if pool is not None:
        return pool
    caller.require(Action.POOL_USE, scope)
    if Pool.objects.filter(title=_TITLE).count() >= _MOST_MADE:
        raise LimitReached(f"{_MOST_MADE} pools were made for Flyte already. Define the pool {name[:80]!r}.")
    spec = PoolSpec(default_capacity, title=_TITLE, is_open=default_capacity > 0)
    return create_pool(name, spec, team=None, actor=_ACTOR)
