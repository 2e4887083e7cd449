"""HTTP endpoints for pools: define them, see who uses them, and explain them."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.teams.owning_team import choose_team
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.pools import examples, explanation_schemas, schemas
from controlplane.endpoints.pools.lease_views import scope_in
from controlplane.identity.roles import Action
from controlplane.pools import leases, pools
from controlplane.preconditions import check
from controlplane.scopes import Level

_TAGS = ["pools"]


class PoolCollection(Endpoint):
    actions = {"GET": Action.POOL_READ}

    @extend_schema(
        operation_id="pools_list",
        summary="List pools",
        description="Pools with the units in use and the requests that wait, by name.",
        tags=_TAGS,
        parameters=[schemas.PoolListQuery],
        responses=schemas.PoolPage,
        examples=[examples.POOLS],
    )
    def get(self, request: Request) -> Response:
        query = schemas.PoolListQuery.parse(request)
        rows = pools.visible_pools(caller_of(request))
        if query.get("name_contains"):
            rows = rows.filter(name__contains=query["name_contains"])
        if "kind" in query:
            rows = pools.of_kind(rows, query["kind"])
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        usage = pools.usage_of(page.items)
        return page_response(request, page, lambda pool: schemas.show_pool(pool, usage.get(pool.id)))


class PoolItem(Endpoint):
    actions = {"GET": Action.POOL_READ, "PUT": Action.POOL_WRITE, "DELETE": Action.POOL_WRITE}
    problems = {
        "GET": (errors.UnknownPool,),
        "PUT": (errors.UnknownTeam, errors.NameTaken, errors.LimitReached),
        "DELETE": (errors.UnknownPool, errors.StillInUse),
    }
    has_versions = True

    @extend_schema(
        operation_id="pools_get",
        summary="Get one pool",
        description="Returns an ETag; send it as `If-Match` to change or delete the pool or its limits.",
        tags=_TAGS,
        responses=schemas.PoolRead,
        examples=[examples.POOL],
    )
    def get(self, request: Request, pool: str) -> Response:
        Query.parse(request)
        row = pools.get_pool(caller_of(request), pool)
        content = schemas.show_pool(row, pools.usage_now(row))
        return respond(request, content, etag=version_etag(row.version))

    @extend_schema(
        operation_id="pools_put",
        summary="Create or replace a pool",
        description=(
            "A lower capacity ends no lease: `over_capacity` is true until enough are released, and nothing"
            " is granted meanwhile. A higher one serves the queue at once. The team of a pool cannot change."
            " Names that begin with `quota:` are those of quotas, such as `quota:agents:<team>`: they count"
            " what exists, and refuse to create more than their capacity."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.PoolPut,
        responses={200: schemas.PoolRead, 201: schemas.PoolRead},
        examples=[examples.WRITE, examples.POOL, examples.CREATED],
    )
    @mutation
    def put(self, request: Request, pool: str) -> Response:
        query, body = ReasonedQuery.parse(request), parse_body(schemas.PoolPut, request)
        caller, actor = caller_of(request), actor_of(request, query["change_message"])
        precondition, spec = parse_precondition(request), schemas.spec_of(body)
        existing = pools.visible_pools(caller).filter(name=pool).first()
        if existing:
            row = pools.get_pool(caller, pool, Action.POOL_WRITE)
            row = pools.change_pool(row, spec, precondition=precondition, actor=actor)
        else:
            check(precondition, None)
            team = choose_team(caller.owners_for(Action.POOL_WRITE), body.get("team"))
            row = pools.create_pool(pool, spec, team=team, actor=actor)
        row.refresh_from_db()
        content = schemas.show_pool(row, pools.usage_now(row))
        headers = {"ETag": version_etag(row.version), "Location": request.path}
        return Response(content, status=200 if existing else 201, headers=headers)

    @extend_schema(
        operation_id="pools_delete",
        summary="Delete a pool",
        description="409 `still_in_use` if it has leases or waiting requests, unless `force` is true. "
        "A dry run is not refused: `used` and `waiting` of the pool tell whether deleting it needs `force`.",
        tags=_TAGS,
        parameters=[schemas.PoolDeletionQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, pool: str) -> Response:
        query = schemas.PoolDeletionQuery.parse(request)
        row = pools.get_pool(caller_of(request), pool, Action.POOL_WRITE)
        pools.delete_pool(
            row,
            precondition=parse_precondition(request),
            # A dry run shows what would happen, and is refused nothing.
            force=query["force"] or query["dry_run"],
            actor=actor_of(request, query["change_message"]),
        )
        return Response(status=204)


class PoolUsageView(Endpoint):
    actions = {"GET": Action.POOL_READ}
    problems = {"GET": (errors.UnknownPool,)}

    @extend_schema(
        operation_id="pools_usage",
        summary="List who uses a pool",
        description="Units in use and waiting requests of each scope at a level that you may read.",
        tags=_TAGS,
        parameters=[schemas.UsageQuery],
        responses=schemas.UsagePage,
        examples=[examples.USAGE],
    )
    def get(self, request: Request, pool: str) -> Response:
        query, caller = schemas.UsageQuery.parse(request), caller_of(request)
        row = pools.get_pool(caller, pool)
        rows = leases.usage_by(caller, row, Level[query["by"].upper()])
        page = paginate(request, rows, order=("-used", "id"), query=query)
        return page_response(request, page, schemas.show_usage)


class PoolExplain(Endpoint):
    actions = {"POST": Action.POOL_READ}
    problems = {"POST": (errors.UnknownPool,)}

    @extend_schema(
        operation_id="pools_explain",
        summary="Explain which limits apply",
        description=(
            "Whether a request for so many units at a scope would get them now, which limits of which scopes"
            " apply, and who uses the units. It changes nothing."
        ),
        tags=_TAGS,
        request=explanation_schemas.ExplainWrite,
        responses=explanation_schemas.PoolExplanationRead,
        examples=[examples.EXPLAIN, examples.EXPLANATION],
    )
    def post(self, request: Request, pool: str) -> Response:
        Query.parse(request)
        body, caller = parse_body(explanation_schemas.ExplainWrite, request), caller_of(request)
        row, scope = pools.get_pool(caller, pool), scope_in(body)
        caller.require(Action.POOL_READ, scope, owner=row.team_id)
        return Response(
            explanation_schemas.show_explanation(leases.explain(caller, row, scope, body["units"]))
        )
