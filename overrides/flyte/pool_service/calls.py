"""Answer Acquire, Renew and Release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from google.protobuf.message import Message

from controlplane.errors import FieldError, InvalidRequest, LeaseLost, TokenInUse
from controlplane.formats.counts import counted
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools import leasing
from controlplane.pools.leases import release_token, visible_leases
from controlplane.pools.ledger import Obstacle, Reason
from controlplane.pools.models import Pool
from controlplane.pools.operations import Acquire, Granted, Renew
from controlplane.pools.operations import TokenInUse as TokenResult
from controlplane.pools.pools import get_pool
from controlplane.pools.terms import MAX_TOKEN_LENGTH, Door, Lease
from controlplane.scopes import Scope
from overrides.flyte.pool_service.wire import message_class

# Flyte's numbers.
GRANTED, EXHAUSTED, NAMESPACE_QUOTA_EXCEEDED = 1, 2, 3
_ACQUIRED: Any = message_class("AcquireReply")
_RENEWED: Any = message_class("RenewReply")
_RELEASED: Any = message_class("ReleaseReply")


def acquire(request: Any, caller: Caller) -> Message:
    """Lease units, or tell which limit leaves no room. Raises ControlplaneError."""
    pool, scope = _pool(request, caller), _scope(request)
    caller.require(Action.POOL_USE, scope, owner=pool.team_id)
    result = leasing.run(pool.id, _operation(request, pool, scope, caller))
    if isinstance(result, TokenResult):
        raise TokenInUse(f"The token holds or waits for {counted(result.units, 'unit')}. Use another token.")
    reply: Message
    if isinstance(result, Granted):
        lease = result.lease
        reply = _ACQUIRED(
            status=GRANTED, lease_id=str(lease.id), epoch=lease.epoch, expires_at=_end_of(lease)
        )
        return reply
    obstacles: Sequence[Obstacle] = getattr(result, "obstacles", ())
    is_capped = bool(obstacles) and all(obstacle.reason is Reason.CAP for obstacle in obstacles)
    status = NAMESPACE_QUOTA_EXCEEDED if request.strict_status and is_capped else EXHAUSTED
    reason = "; ".join(f"{each.reason} at {each.scope}: {each.used} of {each.cap}" for each in obstacles)
    reply = _ACQUIRED(status=status, reason=reason)
    return reply


def renew(request: Any, caller: Caller) -> Message:
    """Renew a lease. Raises LeaseLost, UnknownPool."""
    pool, lease_id = _pool(request, caller), _id(request.lease_id)
    if not visible_leases(caller, pool, Action.POOL_USE).filter(id=lease_id).exists():
        raise LeaseLost(f"There is no lease {lease_id}: it ended, or was never yours.")
    result = leasing.run(pool.id, Renew(lease_id, request.epoch))
    if not isinstance(result, Granted):
        raise LeaseLost("The lease ended, or was granted again. Stop the work that it protects.")
    reply: Message = _RENEWED(expires_at=_end_of(result.lease))
    return reply


def release(request: Any, caller: Caller) -> Message:
    """Release the lease of a token, if it has one. Raises UnknownPool, PermissionDenied."""
    release_token(caller, _pool(request, caller), _scope(request), request.allocation_token)
    reply: Message = _RELEASED()
    return reply


def _operation(request: Any, pool: Pool, scope: Scope, caller: Caller) -> Acquire:
    token, units = request.allocation_token, request.units or 1
    if not token or len(token) > MAX_TOKEN_LENGTH:
        raise _invalid("allocation_token", f"The token has 1 to {MAX_TOKEN_LENGTH} characters.")
    if not 1 <= units <= pool.max_units_per_lease:
        raise _invalid("units", f"A lease of the pool has 1 to {pool.max_units_per_lease} units.")
    if request.lease_seconds < 0:
        raise _invalid("lease_seconds", "The seconds of a lease are not negative.")
    caps = _caps(request.constraints, scope)
    return Acquire(
        token,
        scope,
        units,
        request.lease_seconds or None,
        # Caps of one call are not stored, so a queue could not keep them.
        is_queued=request.queue and not caps,
        holder_id=caller.principal_id,
        door=Door.GRPC,
        caps=caps,
        sees_others=caller.verdict(Action.POOL_READ, scope, pool.team_id).allowed,
    )


def _caps(constraints: Any, scope: Scope) -> tuple[tuple[Scope, int], ...]:
    if not scope.project:
        return ()
    named = ((Scope(project=scope.project), constraints.project_scope), (scope, constraints.namespace_scope))
    return tuple((place, cap) for place, cap in named if cap > 0)


def _pool(request: Any, caller: Caller) -> Pool:
    return get_pool(caller, request.resource_namespace, Action.POOL_USE)


def _scope(request: Any) -> Scope:
    return Scope(domain=request.domain, project=request.project)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise _invalid("lease_id", "The id of a lease is a UUID.") from error


def _end_of(lease: Lease) -> str:
    return lease.expires_at.isoformat() if lease.expires_at else ""


def _invalid(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(field, "invalid", message)])
