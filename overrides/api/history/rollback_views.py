"""HTTP endpoints that restore earlier states of overrides."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, caller_of, mutation
from controlplane.api.fields import parse_body
from controlplane.api.scopes import scope_from
from controlplane.identity.roles import Action
from overrides.api import plan_schemas
from overrides.api.history import examples, schemas
from overrides.api.overrides.views import address_from
from overrides.api.write_options import author_of, write_options_from
from overrides.history.rollback import roll_back, roll_back_override, undelete_override

_TAGS = ["history of overrides"]


class OverrideRollback(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {"POST": (errors.ChangeFrozen, errors.ApprovalRequired)}
    has_versions = True

    @extend_schema(
        operation_id="overrides_rollback",
        summary="Roll an override back to an earlier version",
        description=(
            "Creates a new version with the attributes of the earlier one. `dry_run=true` returns the plan "
            "only. If-Match is optional."
        ),
        tags=_TAGS,
        parameters=[schemas.RollbackQuery],
        request=schemas.OverrideRollback,
        responses=plan_schemas.PlanRead,
        examples=[examples.OVERRIDE_ROLLBACK, examples.ROLLED_BACK],
    )
    @mutation
    def post(self, request: Request, resource_type: str) -> Response:
        query = schemas.RollbackQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_WRITE)
        plan = roll_back_override(
            address,
            to_version=parse_body(schemas.OverrideRollback, request)["to_version"],
            actor=author_of(request, query),
            options=write_options_from(request, query, [address.scope], wants_plan=True),
        )
        return Response(plan_schemas.show_plan(plan, caller_of(request)))


class OverrideUndeletion(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {
        "POST": (errors.UnknownOverride, errors.Conflict, errors.ChangeFrozen, errors.ApprovalRequired)
    }

    @extend_schema(
        operation_id="overrides_undelete",
        summary="Restore a deleted override",
        description=(
            "Creates a new version with the attributes from before the deletion, as long as the "
            "history has them. `dry_run=true` returns the plan only. 409 if it is not deleted."
        ),
        tags=_TAGS,
        parameters=[schemas.RollbackQuery],
        request=None,
        responses=plan_schemas.PlanRead,
        examples=[examples.ROLLED_BACK],
    )
    @mutation
    def post(self, request: Request, resource_type: str) -> Response:
        query = schemas.RollbackQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_WRITE)
        plan = undelete_override(
            address,
            actor=author_of(request, query),
            options=write_options_from(request, query, [address.scope], wants_plan=True),
        )
        return Response(plan_schemas.show_plan(plan, caller_of(request)))


class ScopeRollback(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {"POST": (errors.ChangeFrozen, errors.ApprovalRequired)}

    @extend_schema(
        operation_id="overrides_rollback_scope",
        summary="Roll a scope back to an earlier revision",
        description="Creates one new revision, all or nothing. `dry_run=true` returns the plan only.",
        tags=_TAGS,
        parameters=[schemas.RollbackQuery],
        request=schemas.ScopeRollback,
        responses=plan_schemas.PlanRead,
        examples=[examples.SCOPE_ROLLBACK, examples.ROLLED_BACK],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = schemas.RollbackQuery.parse(request)
        scope = scope_from(query)
        caller_of(request).require(Action.OVERRIDE_WRITE, scope)
        body = parse_body(schemas.ScopeRollback, request)
        plan = roll_back(
            [scope],
            to_revision=body["to_revision"],
            resource_type=body["resource_type"],
            actor=author_of(request, query),
            options=write_options_from(request, query, [scope], wants_plan=True),
        )
        return Response(plan_schemas.show_plan(plan, caller_of(request)))
