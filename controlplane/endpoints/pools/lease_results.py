"""Results of operations on leases as responses and as items of a batch."""

from __future__ import annotations

from math import ceil
from typing import Any

from rest_framework.response import Response

from controlplane import errors
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.pools import lease_schemas as schemas
from controlplane.endpoints.pools.schemas import show_obstacle
from controlplane.formats.counts import counted
from controlplane.identity.callers import Caller
from controlplane.pools import leases
from controlplane.pools.ledger import Obstacle, Reason
from controlplane.pools.models import Pool
from controlplane.pools.operations import Granted, Lost, Queued, Refused, Released, Result, TokenInUse

# Without a mean time of leases, and at most.
_DEFAULT_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 5, 60
_WORDS = {
    Reason.CLOSED: "The pool is closed and grants nothing.",
    Reason.CAPACITY: "{used} of {cap} units are in use.",
    Reason.GUARANTEED: "{used} units are in use, and all but {cap} are guaranteed to other scopes.",
    Reason.CAP: "{scope} uses {used} of the {cap} units of its cap.",
    Reason.QUEUE: "Requests that wait already are served first.",
}


def answer(pool: Pool, result: Result, caller: Caller, *, is_new: bool = False) -> Response:
    """Return the response to one operation. is_new: a grant is new although the queue got it.

    Raises what the result is if it is an error.
    """
    if not isinstance(result, Granted | Queued):
        raise error_of(pool, result)
    lease = result.lease
    content = schemas.show_lease(lease, pool.name, {})
    is_own = lease.holder_id == caller.principal_id
    content["holder"] = caller.name if is_own else leases.names_of([lease.holder_id]).get(lease.holder_id)
    if isinstance(result, Granted):
        status = 201 if result.is_new or is_new else 200
        return Response({**content, **schemas.show_place(None), "limited_by": []}, status=status)
    content |= schemas.show_place(leases.places_of(pool, [lease]).get(lease.id))
    return Response(
        {**content, "limited_by": [show_obstacle(obstacle) for obstacle in result.obstacles]},
        status=202,
        headers={"Retry-After": str(retry_seconds(pool))},
    )


def error_of(pool: Pool, result: Result) -> errors.ControlplaneError:
    """Return the error that a result is."""
    if isinstance(result, TokenInUse):
        return errors.TokenInUse(
            f"The token holds or waits for {counted(result.units, 'unit')}. "
            "Release what it has first, or use another token."
        )
    if isinstance(result, Lost):
        return errors.LeaseLost("The lease ended, or was granted again. Stop the work that it protects.")
    assert isinstance(result, Refused)
    words = " ".join(_sentence(obstacle) for obstacle in result.obstacles)
    advice = "The queue is full too." if result.is_full else "Wait, or queue with `wait_seconds`."
    return errors.PoolExhausted(
        f"The pool {pool.name} has no units for this request. {words} {advice}",
        retry_after=retry_seconds(pool),
        limits=[show_obstacle(obstacle) for obstacle in result.obstacles],
    )


def problem_of(result: Result | Exception) -> dict[str, Any]:
    """Return status and problem of one item of a batch."""
    limits: list[dict[str, Any]] = []
    if isinstance(result, Refused):
        error: Exception = errors.PoolExhausted(" ".join(_sentence(each) for each in result.obstacles))
        limits = [show_obstacle(obstacle) for obstacle in result.obstacles]
    elif isinstance(result, TokenInUse):
        error = errors.TokenInUse(f"The token holds or waits for {counted(result.units, 'unit')}.")
    elif isinstance(result, Lost):
        error = errors.LeaseLost("The lease ended, or was granted again.")
    elif isinstance(result, Exception):
        error = result
    else:
        return {"status": _status(result), "code": None, "detail": None, "lease": None, "limits": []}
    assert isinstance(error, errors.ControlplaneError)
    status = int(STATUS_BY_ERROR[type(error)])
    return {"status": status, "code": error.code, "detail": error.detail, "lease": None, "limits": limits}


def _status(result: Result) -> int:
    if isinstance(result, Released):
        return 204
    if isinstance(result, Queued):
        return 202
    return 201 if isinstance(result, Granted) and result.is_new else 200


def retry_seconds(pool: Pool) -> int:
    """Return after how many seconds a unit may be free: capacity units end in the mean time of a lease."""
    if pool.mean_hold_seconds is None or not pool.capacity:
        return _DEFAULT_RETRY_SECONDS
    return max(1, min(_LONGEST_RETRY_SECONDS, ceil(pool.mean_hold_seconds / pool.capacity)))


def _sentence(obstacle: Obstacle) -> str:
    return _WORDS[obstacle.reason].format(scope=obstacle.scope, cap=obstacle.cap, used=obstacle.used)
