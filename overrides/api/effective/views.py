"""HTTP endpoints for effective values."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.etags import respond
from controlplane.api.fields import Query, parse_body
from controlplane.api.scopes import scope_from
from controlplane.endpoints.events.watch_header import hand_over
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.roles import Action
from overrides.api.as_of import as_of
from overrides.api.effective import batch_schemas, examples, schemas
from overrides.api.effective.scope_sets import PROBLEMS
from overrides.api.effective.watching.handed_watch import HandedWatch
from overrides.effective.effective import effective_attributes, effective_many, flyte_attributes, values_many


class EffectiveOverrides(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    has_versions = True

    @extend_schema(
        operation_id="overrides_effective",
        summary="Get the effective values at a scope",
        description=(
            "Merges everything on the scope's ladder: platform defaults, global, domain, project, project "
            "and domain, workflow, launch plan. The most specific value wins. Each leaf has its source and "
            "the values that lost; `refused` lists values that break a guard rail.\n\nWith `wait` and the"
            " ETag that you have in `If-None-Match`, the answer arrives as soon as it differs, or is 304 when"
            " the time is over."
        ),
        tags=["overrides"],
        parameters=[schemas.EffectiveQuery],
        responses=schemas.EffectiveRead,
        examples=[examples.EFFECTIVE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.EffectiveQuery.parse(request)
        scope = scope_from(query)
        caller_of(request).require(Action.OVERRIDE_READ, scope)
        _check_now(query)
        read = flyte_attributes if query["strategy"] == "flyte" else effective_attributes
        effective = read(scope, resource_type=query["resource_type"], as_of=as_of(query))
        etag = f'"{effective.fingerprint}"'
        response = respond(request, schemas.show_effective(effective), etag=etag)
        if query["wait"] and response.status_code == HTTPStatus.NOT_MODIFIED:
            names = {"resource_type": query["resource_type"], "form": query["strategy"]}
            watch = HandedWatch(
                str(caller_of(request).principal_id), ((scope, etag),), wait=query["wait"], **names
            )
            hand_over(watch, request.headers, response)
        return response


def _check_now(query: dict[str, Any]) -> None:
    """Raise InvalidRequest for a wait for the past."""
    if query["wait"] and query["as_of"]:
        message = "The past does not change. Leave out `wait` or `as_of`."
        raise InvalidRequest(message, errors=[FieldError("?wait", "not_allowed", message)])


class EffectiveBatch(Endpoint):
    actions = {"POST": Action.OVERRIDE_READ}
    problems = {"POST": PROBLEMS}

    @extend_schema(
        operation_id="overrides_effective_batch",
        summary="Get the effective values at up to 1,000 scopes",
        description=(
            "A read operation; it uses POST because the list of scopes can be long. Results are in the order "
            "of the scopes. `source` is an index into `sources`, which contains each source once. "
            "`explain: false` returns only values, which is much smaller and faster."
        ),
        tags=["overrides"],
        request=batch_schemas.EffectiveBatchWrite,
        responses=batch_schemas.EffectiveBatchRead,
        examples=[examples.EFFECTIVE_BATCH_WRITE, examples.EFFECTIVE_BATCH],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        body = parse_body(batch_schemas.EffectiveBatchWrite, request)
        scopes = [scope_from(segments) for segments in body["scopes"]]
        caller = caller_of(request)
        for scope in scopes:
            caller.require(Action.OVERRIDE_READ, scope)
        query = {"resource_type": body["resource_type"], "as_of": as_of(body)}
        if not body["explain"]:
            items = [batch_schemas.show_values(values) for values in values_many(scopes, **query)]
            return Response({"sources": [], "items": items})
        answers = effective_many(scopes, with_fingerprints=False, **query)
        return Response(batch_schemas.show_batch(answers))
