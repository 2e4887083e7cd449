"""HTTP endpoint for many operations on leases at once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, MutationQuery, caller_of
from controlplane.api.fields import parse_body
from controlplane.endpoints.pools import examples
from controlplane.endpoints.pools import lease_schemas as schemas
from controlplane.endpoints.pools.lease_results import problem_of
from controlplane.endpoints.pools.lease_views import UNLIMITED, acquire_from, marked, trial
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools import leases, leasing
from controlplane.pools.models import Pool
from controlplane.pools.operations import Granted, Operation, Queued, Release, Renew, Result
from controlplane.pools.pools import get_pool

_TAGS = ["pools"]


class LeaseBatchView(Endpoint):
    actions = {"POST": Action.POOL_USE}
    problems = {"POST": (errors.UnknownPool,)}
    unlimited_methods = UNLIMITED

    @extend_schema(
        operation_id="pools_lease_batch",
        summary="Acquire, renew and release many leases",
        description=(
            "Up to 1,000 operations on one pool, in one transaction: releases first, then renewals, then"
            " requests. Each has its own result."
        ),
        tags=_TAGS,
        parameters=[MutationQuery],
        request=schemas.LeaseBatch,
        responses=schemas.LeaseBatchRead,
        examples=[examples.BATCH, examples.BATCH_RESULTS],
    )
    def post(self, request: Request, pool: str) -> Response:
        dry_run = MutationQuery.parse(request)["dry_run"]
        items = parse_body(schemas.LeaseBatch, request)["operations"]
        caller = caller_of(request)
        row = get_pool(caller, pool, Action.POOL_USE)
        named = {item[kind]["lease"] for item in items for kind in ("renew", "release") if kind in item}
        own = set(
            leases.visible_leases(caller, row, Action.POOL_USE)
            .filter(id__in=named)
            .values_list("id", flat=True)
        )
        operations = [_operation(item, row, caller, own) for item in items]
        accepted = [operation for operation in operations if not isinstance(operation, Exception)]
        with trial(dry_run=dry_run):
            results = leasing.run_operations(row.id, accepted)
        names = leases.names_of(
            result.lease.holder_id for result in results if isinstance(result, Granted | Queued)
        )
        answers = iter(results)
        shown = [
            problem_of(operation) if isinstance(operation, Exception) else _item(row, next(answers), names)
            for operation in operations
        ]
        return marked(Response({"results": shown}), dry_run=dry_run)


def _operation(
    item: dict[str, Any], pool: Pool, caller: Caller, own: set[UUID]
) -> Operation | errors.ControlplaneError:
    """Return the operation of an item, or why it cannot be carried out."""
    try:
        if "acquire" in item:
            return acquire_from(item["acquire"], pool, caller)
        lease_id = (item.get("renew") or item["release"])["lease"]
        if lease_id not in own:
            raise errors.UnknownLease(f"There is no lease {lease_id} that you may use.")
        if "renew" in item:
            return Renew(lease_id, item["renew"]["epoch"], item["renew"].get("lease_seconds"))
        return Release(lease_id, epoch=item["release"].get("epoch"))
    except errors.ControlplaneError as error:
        return error


def _item(pool: Pool, result: Result, names: dict[UUID | None, str]) -> dict[str, Any]:
    lease = result.lease if isinstance(result, Granted | Queued) else None
    return {**problem_of(result), "lease": schemas.show_lease(lease, pool.name, names) if lease else None}
