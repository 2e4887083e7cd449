"""HTTP endpoints that restore deleted guard rails and resource types."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, actor_of, caller_of, mutation
from controlplane.api.etags import version_etag
from controlplane.database.scoped import overlapping
from controlplane.errors import UnknownGuardRail
from controlplane.identity.roles import Action
from overrides.api import examples, guard_rails, resource_types
from overrides.api.plan_schemas import show_plan
from overrides.api.schemas import ConfirmedQuery
from overrides.api.write_options import commit_options_from
from overrides.editing.guard_rails import get_latest_rail, undelete_rail
from overrides.editing.resource_types import undelete_type
from overrides.models import GuardRailRow

_REFUSALS = (
    errors.Conflict,
    errors.NameTaken,
    errors.ConfirmationRequired,
    errors.SourceIsReadOnly,
    errors.InheritedConflict,
)


class RailUndeletion(Endpoint):
    actions = {"POST": Action.RAIL_WRITE}
    problems = {"POST": (errors.UnknownGuardRail, errors.StillInUse, *_REFUSALS)}

    @extend_schema(
        operation_id="guard_rails_undelete",
        summary="Restore a deleted guard rail",
        description=(
            "Creates a new version with the rule from before the deletion, and is refused like a PUT of it. "
            "`dry_run=true` returns the plan only. 409 if the guard rail is not deleted."
        ),
        tags=["guard rails"],
        parameters=[guard_rails.RailMutationQuery],
        request=None,
        responses={201: guard_rails.GuardRailWithPlan},
        examples=[examples.RAIL_WITH_PLAN],
    )
    @mutation
    def post(self, request: Request, name: str) -> Response:
        query = guard_rails.RailMutationQuery.parse(request)
        caller, latest = caller_of(request), get_latest_rail(name)
        readable = overlapping(caller.scopes_for(Action.OVERRIDE_READ))
        if not GuardRailRow.objects.filter(readable, id=latest.id).exists():
            raise UnknownGuardRail(f"Guard rail {name[:80]!r} does not exist.")
        caller.require(Action.RAIL_WRITE, latest.scope)
        result = undelete_rail(
            name,
            actor=actor_of(request, query["change_message"]),
            accept_existing=query["accept_existing"],
            options=commit_options_from(query, wants_plan=True),
        )
        content = {**guard_rails.show_rail(result.row), "plan": show_plan(result.plan, caller)}
        return Response(content, status=201, headers={"ETag": version_etag(result.row.version)})


class TypeUndeletion(Endpoint):
    actions = {"POST": Action.TYPE_WRITE}
    problems = {"POST": (errors.UnknownResourceType, errors.InvalidTypeDefinition, *_REFUSALS)}

    @extend_schema(
        operation_id="resource_types_undelete",
        summary="Restore a deleted resource type",
        description=(
            "Creates a new version with the definition from before the deletion. `dry_run=true` returns the "
            "plan only. 409 if the type is not deleted."
        ),
        tags=["resource types"],
        parameters=[ConfirmedQuery],
        request=None,
        responses={201: resource_types.ResourceTypeWithPlan},
        examples=[examples.OWN_TYPE],
    )
    @mutation
    def post(self, request: Request, resource_type: str) -> Response:
        query = ConfirmedQuery.parse(request)
        caller_of(request).require(Action.TYPE_WRITE)
        put = undelete_type(
            resource_type,
            actor=actor_of(request, query["change_message"]),
            options=commit_options_from(query, wants_plan=True),
        )
        return resource_types.answer(request, put, status=201)
