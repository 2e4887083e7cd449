"""HTTP endpoint that explains placement. It changes nothing."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Query, parse_body
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.api.dispatch import placement_schemas as schemas
from registry.api.dispatch.resource_schemas import scope_in
from registry.dispatch.resources.explain import explain_request, explain_resource
from registry.dispatch.resources.owners import choose_owner
from registry.dispatch.resources.requests import ResourceRequest


class PlacementExplanation(Endpoint):
    actions = {"POST": Action.RESOURCE_READ}
    problems = {"POST": (errors.UnknownResource, errors.UnknownTeam, errors.InvalidScope)}

    @extend_schema(
        operation_id="placements_explain",
        summary="Explain which agent gets a resource",
        description=(
            "For a request as it would be sent now, or for a resource. Changes nothing. Shows for each agent "
            "that you may read the reasons why it cannot take the resource, or its score. If an operator has "
            "set up a placement policy, it is consulted."
        ),
        tags=["resources"],
        request=schemas.PlacementExplainWrite,
        responses=schemas.ExplanationRead,
        examples=schemas.EXAMPLES,
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        body, caller = parse_body(schemas.PlacementExplainWrite, request), caller_of(request)
        if "resource_id" in body:
            explanation = explain_resource(body["resource_id"], caller)
        else:
            explanation = explain_request(_request(body, caller), caller)
        return Response(schemas.show_explanation(explanation))


def _require_readable_team(caller: Caller, slug: str | None) -> None:
    """Raise UnknownTeam for readers of everything who may neither read teams nor create their resources."""
    is_limited = not caller.owners_for(Action.RESOURCE_READ).everything
    may_create = caller.owners_for(Action.RESOURCE_WRITE).everything
    if slug and not (is_limited or may_create or caller.verdict(Action.ACCESS_READ).allowed):
        raise errors.UnknownTeam(f"Team {slug[:80]!r} does not exist.")


def _request(body: dict[str, Any], caller: Caller) -> ResourceRequest:
    """Return the request. Whether its project exists makes no difference, and is not disclosed."""
    scope = scope_in(body)
    _require_readable_team(caller, body["team"])
    team = choose_owner(caller, scope, body["team"], Action.RESOURCE_READ)
    return ResourceRequest(
        "",
        body["service_type"],
        {},
        scope,
        team.id if team else None,
        dict(body["labels"]),
        dict(body["placement"]),
    )
