"""Doors to effective values: what applies, and why."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.roles import Action
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.etags import respond
from controlplane.api.fields import Query, parse_body
from controlplane.api.scopes import scope_from
from overrides.api import effective_shapes as shapes
from overrides.api import examples
from overrides.api.time_travel import as_of
from overrides.effective import effective_many, values_many
from overrides.flyte_strategy import as_flyte


class EffectiveOverrides(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    has_versions = True

    @extend_schema(
        operation_id="overrides_effective",
        summary="What applies at a scope, and why",
        description=(
            "Combines everything on the scope's ladder: platform defaults, global, domain, project, project "
            "and domain, workflow, launch plan; the more specific wins. Each leaf names its source and what "
            "lost, and `refused` what a guard rail keeps from applying."
        ),
        tags=["overrides"],
        parameters=[shapes.EffectiveQuery],
        responses=shapes.EffectiveRead,
        examples=[examples.EFFECTIVE],
    )
    def get(self, request: Request) -> Response:
        query = shapes.EffectiveQuery.parse(request)
        scope = scope_from(query)
        caller_of(request).require(Action.OVERRIDE_READ, scope)
        (effective,) = effective_many([scope], resource_type=query["resource_type"], as_of=as_of(query))
        if query["strategy"] == "flyte":
            effective = as_flyte(effective)
        return respond(request, shapes.show_effective(effective), etag=f'"{effective.fingerprint}"')


class EffectiveBatch(Endpoint):
    actions = {"POST": Action.OVERRIDE_READ}

    @extend_schema(
        operation_id="overrides_effective_batch",
        summary="What applies at up to 1,000 scopes, with one query",
        description=(
            "A read; POST because the question is long. Answers in the order of the question. With "
            "`explain: false` only the values: much smaller and faster."
        ),
        tags=["overrides"],
        request=shapes.EffectiveBatchWrite,
        responses=shapes.EffectiveBatchRead,
        examples=[examples.EFFECTIVE_BATCH_WRITE, examples.EFFECTIVE_BATCH],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        wanted = parse_body(shapes.EffectiveBatchWrite, request)
        scopes = [scope_from(one) for one in wanted["scopes"]]
        caller = caller_of(request)
        for scope in scopes:
            caller.require(Action.OVERRIDE_READ, scope)
        question = {"resource_type": wanted["resource_type"], "as_of": as_of(wanted)}
        if not wanted["explain"]:
            return Response({"items": [shapes.show_values(one) for one in values_many(scopes, **question)]})
        return Response({"items": [shapes.show_effective(one) for one in effective_many(scopes, **question)]})
