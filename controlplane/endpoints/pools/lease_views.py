"""HTTP endpoints for leases of pools.

A lease is no mutation in the sense of the audit log, as a heartbeat is none: its token makes repetitions
safe, and requests that arrive at once share a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.fields import parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.api.scopes import scope_from
from controlplane.database.scoped import within
from controlplane.endpoints.events.watch_header import hand_over
from controlplane.endpoints.pools import examples
from controlplane.endpoints.pools import lease_schemas as schemas
from controlplane.endpoints.pools.lease_results import answer
from controlplane.endpoints.pools.schemas import show_obstacle
from controlplane.events.log import last_number
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools import leases, leasing
from controlplane.pools.long_poll import watch_lease
from controlplane.pools.models import Pool
from controlplane.pools.operations import Acquire, Queued, Release, Renew
from controlplane.pools.pools import get_pool
from controlplane.pools.terms import PATIENCE, LeaseState
from controlplane.scopes import Scope

_TAGS = ["pools"]
# A fleet may lease with one token, or from one address.
UNLIMITED = frozenset({"POST", "DELETE"})


def scope_in(body: dict[str, Any]) -> Scope:
    """Return the scope of a body; the global one if it has none. Raises InvalidScope."""
    return scope_from(body["scope"]) if "scope" in body else Scope()


def acquire_from(body: dict[str, Any], pool: Pool, caller: Caller) -> Acquire:
    """Return the request of a body of LeaseRequest. Raises PermissionDenied, InvalidScope, InvalidRequest."""
    scope = scope_in(body)
    caller.require(Action.POOL_USE, scope, owner=pool.team_id)
    if body["units"] > pool.max_units_per_lease:
        message = f"A lease of the pool {pool.name} has at most {pool.max_units_per_lease} units."
        raise errors.InvalidRequest(message, errors=[errors.FieldError("/units", "too_many", message)])
    wait = body.get("wait_seconds", 0)
    return Acquire(
        body["token"],
        scope,
        body["units"],
        body.get("lease_seconds"),
        is_queued=bool(wait) or body.get("queue", False),
        patience=PATIENCE + timedelta(seconds=wait),
        priority=body["priority"],
        holder_id=caller.principal_id,
        attributes=body["attributes"],
        sees_others=caller.verdict(Action.POOL_READ, scope, pool.team_id).allowed,
    )


def marked(response: Response, *, dry_run: bool) -> Response:
    """Return the response, with the header of a dry run if it was one."""
    if dry_run:
        response["Dry-Run"] = "true"
    return response


@contextmanager
def trial(*, dry_run: bool) -> Iterator[None]:
    """Undo what the block does if the request is a dry run."""
    if not dry_run:
        yield
        return
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


class LeaseCollection(Endpoint):
    actions = {"GET": Action.POOL_READ, "POST": Action.POOL_USE}
    problems = {
        "GET": (errors.UnknownPool,),
        "POST": (errors.UnknownPool, errors.TokenInUse, errors.PoolExhausted),
    }
    unlimited_methods = UNLIMITED

    @extend_schema(
        operation_id="pools_leases",
        summary="List the leases of a pool",
        description="Leases at the scope and below it that you may read. Ended ones are kept for an hour.",
        tags=_TAGS,
        parameters=[schemas.LeaseListQuery],
        responses=schemas.LeasePage,
        examples=[examples.LEASES],
    )
    def get(self, request: Request, pool: str) -> Response:
        query, caller = schemas.LeaseListQuery.parse(request), caller_of(request)
        row = get_pool(caller, pool)
        rows = leases.visible_leases(caller, row).filter(within([scope_from(query)]))
        if "state" in query:
            rows = rows.filter(state=query["state"])
        order = "-id" if query["order"] == "newest" else "id"
        page = paginate(request, rows, order=(order,), query=query)
        names = leases.names_of(lease.holder_id for lease in page.items)
        return page_response(request, page, lambda lease: schemas.show_lease(lease, row.name, names))

    @extend_schema(
        operation_id="pools_acquire",
        summary="Lease units of a pool",
        description=(
            "201 with the lease; 200 if your token has it already; 202 if you wait in the queue: repeat the"
            " request to stay there; 429 `pool_exhausted` if there are no units and you do not queue. Renew"
            " the lease before `expires_at`, and release it when the work is done."
        ),
        tags=_TAGS,
        parameters=[MutationQuery],
        request=schemas.LeaseWrite,
        responses={200: schemas.LeaseResult, 201: schemas.LeaseResult, 202: schemas.LeaseResult},
        examples=[examples.ACQUIRE, examples.HELD, examples.GRANTED, examples.QUEUED],
    )
    def post(self, request: Request, pool: str) -> Response:
        dry_run = MutationQuery.parse(request)["dry_run"]
        body, caller = parse_body(schemas.LeaseWrite, request), caller_of(request)
        row = get_pool(caller, pool, Action.POOL_USE)
        with trial(dry_run=dry_run):
            result = leasing.run(row.id, acquire_from(body, row, caller))
        # The event streams repeat the request when its wait ends.
        is_repeated = "Last-Event-ID" in request.headers
        if isinstance(result, Queued) and body["wait_seconds"] and not (dry_run or is_repeated):
            return self._wait(request, row, result, body["wait_seconds"])
        return marked(answer(row, result, caller, is_new=is_repeated), dry_run=dry_run)

    def _wait(self, request: Request, pool: Pool, queued: Queued, seconds: int) -> Response:
        """Have the event streams repeat the request once the lease is granted."""
        caller, last_event = caller_of(request), last_number()
        response = answer(pool, queued, caller)
        # A grant before `last_number` has no event after it.
        waits = leases.visible_leases(caller, pool, Action.POOL_USE).filter(
            id=queued.lease.id, state=LeaseState.WAITING.value
        )
        after = last_event if waits.exists() else 0
        hand_over(
            watch_lease(queued.lease.id, caller, after=after, seconds=seconds), request.headers, response
        )
        return response


class LeaseItem(Endpoint):
    actions = {"GET": Action.POOL_READ, "DELETE": Action.POOL_USE}
    problems = {"GET": (errors.UnknownPool, errors.UnknownLease), "DELETE": (errors.UnknownPool,)}
    unlimited_methods = UNLIMITED

    @extend_schema(
        operation_id="pools_lease",
        summary="Get one lease",
        description="With its place in the queue while it waits.",
        tags=_TAGS,
        parameters=[schemas.LeaseGetQuery],
        responses=schemas.LeaseResult,
        examples=[examples.LEASE],
    )
    def get(self, request: Request, pool: str, lease_id: UUID) -> Response:
        query, caller = schemas.LeaseGetQuery.parse(request), caller_of(request)
        row, last_event = get_pool(caller, pool), last_number() if query["wait"] else 0
        lease = leases.get_lease(caller, row, lease_id)
        waits = lease.state == LeaseState.WAITING
        content = schemas.show_lease(lease, row.name, leases.names_of([lease.holder_id]))
        obstacles = leases.obstacles_of(row, lease.scope, lease.units) if waits else []
        content |= schemas.show_place(leases.places_of(row, [lease]).get(lease.id) if waits else None)
        response = Response({**content, "limited_by": [show_obstacle(obstacle) for obstacle in obstacles]})
        if waits and query["wait"]:
            watch = watch_lease(lease.id, caller, after=last_event, seconds=query["wait"])
            hand_over(watch, request.headers, response)
        return response

    @extend_schema(
        operation_id="pools_release",
        summary="Release a lease",
        description="Also takes a waiting request out of the queue. 204 too if it has ended already.",
        tags=_TAGS,
        parameters=[schemas.LeaseReleaseQuery],
        responses={204: None},
    )
    def delete(self, request: Request, pool: str, lease_id: UUID) -> Response:
        query, caller = schemas.LeaseReleaseQuery.parse(request), caller_of(request)
        row = get_pool(caller, pool, Action.POOL_USE)
        if leases.visible_leases(caller, row, Action.POOL_USE).filter(id=lease_id).exists():
            with trial(dry_run=query["dry_run"]):
                leasing.run(row.id, Release(lease_id, epoch=query.get("epoch")))
        return marked(Response(status=204), dry_run=query["dry_run"])


class LeaseRenewalView(Endpoint):
    actions = {"POST": Action.POOL_USE}
    problems = {"POST": (errors.UnknownPool, errors.LeaseLost)}
    unlimited_methods = UNLIMITED

    @extend_schema(
        operation_id="pools_renew",
        summary="Renew a lease",
        description="409 `lease_lost` if it ended or was granted again: then stop the work that it protects.",
        tags=_TAGS,
        parameters=[MutationQuery],
        request=schemas.LeaseRenewal,
        responses=schemas.LeaseResult,
        examples=[examples.RENEW, examples.LEASE],
    )
    def post(self, request: Request, pool: str, lease_id: UUID) -> Response:
        dry_run = MutationQuery.parse(request)["dry_run"]
        body, caller = parse_body(schemas.LeaseRenewal, request), caller_of(request)
        row = get_pool(caller, pool, Action.POOL_USE)
        if not leases.visible_leases(caller, row, Action.POOL_USE).filter(id=lease_id).exists():
            raise errors.LeaseLost(f"There is no lease {lease_id}: it ended, or was never yours.")
        with trial(dry_run=dry_run):
            result = leasing.run(row.id, Renew(lease_id, body["epoch"], body.get("lease_seconds")))
        return marked(answer(row, result, caller), dry_run=dry_run)


class LeaseReleaseView(Endpoint):
    actions = {"POST": Action.POOL_USE}
    problems = {"POST": (errors.UnknownPool,)}
    unlimited_methods = UNLIMITED

    @extend_schema(
        operation_id="pools_release_token",
        summary="Release the lease of a token",
        description="204 too if the token has none. For programs that keep no lease id.",
        tags=_TAGS,
        parameters=[MutationQuery],
        request=schemas.LeaseReleaseWrite,
        responses={204: None},
        examples=[examples.RELEASE],
    )
    def post(self, request: Request, pool: str) -> Response:
        dry_run = MutationQuery.parse(request)["dry_run"]
        body, caller = parse_body(schemas.LeaseReleaseWrite, request), caller_of(request)
        row = get_pool(caller, pool, Action.POOL_USE)
        with trial(dry_run=dry_run):
            leases.release_token(caller, row, scope_in(body), body["token"], epoch=body.get("epoch"))
        return marked(Response(status=204), dry_run=dry_run)


class LeaseRevocation(Endpoint):
    actions = {"POST": Action.POOL_WRITE}
    problems = {"POST": (errors.UnknownPool, errors.UnknownLease, errors.LeaseLost)}

    @extend_schema(
        operation_id="pools_revoke",
        summary="Revoke a lease",
        description=(
            "Ends it now, whatever its holder does; the next request in the queue gets the units. The holder"
            " learns of it at the next renewal. `change_message` is the reason."
        ),
        tags=_TAGS,
        parameters=[schemas.LeaseRevocationQuery],
        request=None,
        responses=schemas.LeaseRead,
        examples=[examples.REVOKED],
    )
    @mutation
    def post(self, request: Request, pool: str, lease_id: UUID) -> Response:
        query, caller = schemas.LeaseRevocationQuery.parse(request), caller_of(request)
        row = get_pool(caller, pool, Action.POOL_WRITE)
        lease = leases.get_lease(caller, row, lease_id, Action.POOL_WRITE)
        lease = leases.revoke_lease(row, lease, actor=actor_of(request, query["change_message"]))
        return Response(schemas.show_lease(lease, row.name, leases.names_of([lease.holder_id])))
