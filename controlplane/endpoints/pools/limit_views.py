"""HTTP endpoints for the limits of pools."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, version_etag
from controlplane.api.fields import parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.scopes import scope_from
from controlplane.database.scoped import within
from controlplane.endpoints.pools import examples, schemas
from controlplane.identity.roles import Action
from controlplane.pools.limits import LimitSpec, delete_limit, put_limit
from controlplane.pools.models import PoolLimit
from controlplane.pools.pools import get_pool
from controlplane.pools.storage import read_ledger

_TAGS = ["pools"]


class LimitCollection(Endpoint):
    actions = {"GET": Action.POOL_READ, "PUT": Action.POOL_WRITE, "DELETE": Action.POOL_WRITE}
    problems = {
        "GET": (errors.UnknownPool,),
        "PUT": (errors.UnknownPool, errors.LimitReached),
        "DELETE": (errors.UnknownPool, errors.UnknownPoolLimit),
    }
    has_versions = True

    @extend_schema(
        operation_id="pools_limits",
        summary="List the limits of a pool",
        description="Caps, guarantees and weights of the scopes that you may read, with what they use.",
        tags=_TAGS,
        parameters=[PageQuery],
        responses=schemas.LimitPage,
        examples=[examples.LIMITS],
    )
    def get(self, request: Request, pool: str) -> Response:
        query, caller = PageQuery.parse(request), caller_of(request)
        row = get_pool(caller, pool)
        scopes = caller.scopes_for(Action.POOL_READ, owner=row.team_id)
        rows = PoolLimit.objects.filter(within(scopes), pool=row)
        page = paginate(request, rows, order=("id",), query=query)
        ledger = read_ledger(row.id, {limit.scope for limit in page.items})
        response = page_response(request, page, lambda limit: schemas.show_limit(limit, ledger))
        response["ETag"] = version_etag(row.version)
        return response

    @extend_schema(
        operation_id="pools_put_limit",
        summary="Set the limit of a scope",
        description=(
            "`If-Match` takes the ETag of the pool. A cap below use ends no lease: `is_exceeded` is true"
            " until enough are released."
        ),
        tags=_TAGS,
        parameters=[schemas.LimitQuery],
        request=schemas.LimitWrite,
        responses=schemas.LimitRead,
        examples=[examples.LIMIT_WRITE, examples.LIMIT],
    )
    @mutation
    def put(self, request: Request, pool: str) -> Response:
        query, body = schemas.LimitQuery.parse(request), parse_body(schemas.LimitWrite, request)
        row, limit = put_limit(
            get_pool(caller_of(request), pool, Action.POOL_WRITE),
            scope_from(query),
            LimitSpec(body["cap"], body["guaranteed"], body["weight"]),
            precondition=parse_precondition(request),
            actor=actor_of(request, query["change_message"]),
        )
        content = schemas.show_limit(limit, read_ledger(row.id, [limit.scope]))
        return Response(content, headers={"ETag": version_etag(row.version)})

    @extend_schema(
        operation_id="pools_delete_limit",
        summary="Remove the limit of a scope",
        description="`If-Match` takes the ETag of the pool. Limits of wider scopes apply from then on.",
        tags=_TAGS,
        parameters=[schemas.LimitQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, pool: str) -> Response:
        query = schemas.LimitQuery.parse(request)
        row = delete_limit(
            get_pool(caller_of(request), pool, Action.POOL_WRITE),
            scope_from(query),
            precondition=parse_precondition(request),
            actor=actor_of(request, query["change_message"]),
        )
        return Response(status=204, headers={"ETag": version_etag(row.version)})
