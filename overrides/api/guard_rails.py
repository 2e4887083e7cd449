"""HTTP endpoints for guard rails."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.scopes import ScopeRead, ScopeWrite, show_scope
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.database.scoped import overlapping
from controlplane.errors import FieldError, InvalidRequest, NameTaken, UnknownGuardRail
from controlplane.identity.roles import Action
from controlplane.scopes import LEVEL_NAMES
from overrides.api import examples
from overrides.api.as_of import AsOfQuery, as_of
from overrides.api.plan_schemas import PlanRead, show_plan
from overrides.api.schemas import AnyJSONField, ConfirmedQuery
from overrides.api.write_options import commit_options_from
from overrides.documents.guard_rails import rail_from
from overrides.editing.guard_rails import delete_rail, put_rail
from overrides.models import GuardRailRow


class RailRule(serializers.Serializer[Any]):
    """At least one limit."""

    lock_below = serializers.ChoiceField(
        choices=LEVEL_NAMES, required=False, help_text="More specific levels may not set the field."
    )
    minimum = AnyJSONField(required=False, help_text="A number, or a quantity such as 500m.")
    maximum = AnyJSONField(required=False)
    allowed = serializers.ListField(
        child=AnyJSONField(), required=False, help_text="The only allowed values; for a list, of its items."
    )


class GuardRailWrite(serializers.Serializer[Any]):
    """A limit of one field, for a scope and all below it."""

    name = serializers.CharField(help_text="Lower-case letters, digits and inner hyphens.")
    scope = ScopeWrite(required=False)
    resource_type = serializers.CharField()
    pointer = serializers.CharField(
        help_text="JSON Pointer of the field, such as /limits/cpu; `*` matches any step."
    )
    rule = RailRule()
    reason = serializers.CharField(
        required=False, max_length=500, help_text="Shown in errors of refused writes."
    )

    class Meta:
        ref_name = "GuardRailWrite"


class GuardRailRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    scope = ScopeRead()
    resource_type = serializers.CharField()
    pointer = serializers.CharField()
    rule = RailRule()
    reason = serializers.CharField()
    version = serializers.IntegerField()
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()


class GuardRailPage(serializers.Serializer[Any]):
    items = GuardRailRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RailListQuery(PageQuery, AsOfQuery):
    resource_type = serializers.CharField(required=False, help_text="Only this type.")
    q = SearchField("name", "resource_type", "pointer", "reason", "changed_by")
    sort = SortField(SortKeys.of("name", "resource_type", tie_break="name"), default="name")


class GuardRailWithPlan(GuardRailRead):
    """A guard rail, and how it changes effective values."""

    plan = PlanRead()


class RailMutationQuery(ConfirmedQuery):
    accept_existing = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Accept existing overrides that break the guard rail; they stay stored without effect.",
    )


class RailCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}

    @extend_schema(
        operation_id="guard_rails_list",
        summary="List guard rails",
        description=(
            "The locks, minimums, maximums and allowed values that constrain overrides, each with its scope."
        ),
        tags=["guard rails"],
        parameters=[RailListQuery],
        responses=GuardRailPage,
        examples=[examples.RAILS],
    )
    def get(self, request: Request) -> Response:
        query = RailListQuery.parse(request)
        rows = _visible(request, as_of(query))
        if "resource_type" in query:
            rows = rows.filter(resource_type=query["resource_type"])
        return page_response(
            request, paginate(request, rows.filter(query["q"]), order=query["sort"], query=query), show_rail
        )


class RailItem(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ, "PUT": Action.RAIL_WRITE, "DELETE": Action.RAIL_WRITE}
    problems = {
        "PUT": (
            errors.NameTaken,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
            errors.InvalidScope,
            errors.InheritedConflict,
        ),
        "DELETE": (
            errors.StillInUse,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
        ),
    }
    has_versions = True

    @extend_schema(
        operation_id="guard_rails_get",
        summary="Get one guard rail",
        description="Returns an ETag; send it as `If-Match` to change or delete the guard rail.",
        tags=["guard rails"],
        parameters=[AsOfQuery],
        responses=GuardRailRead,
        examples=[examples.RAIL],
    )
    def get(self, request: Request, name: str) -> Response:
        revision = as_of(AsOfQuery.parse(request))
        row = _visible(request, revision).filter(name=name).first()
        if row is None:
            raise UnknownGuardRail(f"Guard rail {name[:80]!r} does not exist.")
        return respond(request, show_rail(row), etag=version_etag(row.version))

    @extend_schema(
        operation_id="guard_rails_put",
        summary="Create or replace a guard rail",
        description=(
            "Locks a field below a level, or sets its minimum, maximum or allowed values, for a scope and "
            "all scopes below it. Writes that break the guard rail are refused; inherited values that break "
            "it do not apply there. The request is refused with the existing overrides that break the guard "
            "rail, unless `accept_existing=true`, and if a scope would resolve to invalid attributes. "
            "`plan` shows what changes; `dry_run=true` returns it without writing, and needs no "
            "confirmation."
        ),
        tags=["guard rails"],
        parameters=[RailMutationQuery],
        request=GuardRailWrite,
        responses={200: GuardRailWithPlan, 201: GuardRailWithPlan},
        examples=[examples.RAIL_WRITE, examples.RAIL_WITH_PLAN],
    )
    @mutation
    def put(self, request: Request, name: str) -> Response:
        query = RailMutationQuery.parse(request)
        rail = rail_from(request.data)
        if rail.name != name:
            message = f"The name is {name[:80]!r} in the path and {rail.name!r} in the body."
            raise InvalidRequest(message, errors=[FieldError("/name", "other_name", message)])
        caller_of(request).require(Action.RAIL_WRITE, rail.scope)
        _require_own(request, name)
        result = put_rail(
            rail,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
            accept_existing=query["accept_existing"],
            options=commit_options_from(query, wants_plan=True),
        )
        content = {**show_rail(result.row), "plan": show_plan(result.plan, caller_of(request))}
        headers = {"ETag": version_etag(result.row.version)}
        return Response(content, status=201 if result.is_new else 200, headers=headers)

    @extend_schema(
        operation_id="guard_rails_delete",
        summary="Delete a guard rail",
        description="Values that it refused apply again. `dry_run=true` returns 200 with the plan.",
        tags=["guard rails"],
        parameters=[ConfirmedQuery],
        responses={200: PlanRead, 204: None},
        examples=[examples.PLAN],
    )
    @mutation
    def delete(self, request: Request, name: str) -> Response:
        query = ConfirmedQuery.parse(request)
        _require_own(request, name)
        plan = delete_rail(
            name,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
            options=commit_options_from(query, wants_plan=query["dry_run"]),
        )
        if query["dry_run"]:
            return Response(show_plan(plan, caller_of(request)))
        return Response(status=204)


def _visible(request: Request, revision: int | None = None) -> QuerySet[GuardRailRow]:
    """Return rails that are in effect at scopes where the caller can read overrides."""
    scopes = caller_of(request).scopes_for(Action.OVERRIDE_READ)
    return GuardRailRow.objects.as_of(revision).filter(overlapping(scopes))


def show_rail(row: GuardRailRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "scope": show_scope(row.scope),
        "resource_type": row.resource_type,
        "pointer": row.pointer,
        "rule": row.rule,
        "reason": row.reason,
        "version": row.version,
        "changed_at": row.changed_at,
        "changed_by": row.changed_by,
    }


def _require_own(request: Request, name: str) -> None:
    """Check that the caller may write rails at the scope of an existing rail.

    For a rail that the caller cannot read, only the name is disclosed, since names are unique.
    Raises PermissionDenied, NameTaken for a PUT and UnknownGuardRail for a DELETE.
    """
    row = GuardRailRow.objects.present().filter(name=name).first()
    if row is None:
        return
    if not _visible(request).filter(name=name).exists():
        if request.method == "PUT":
            raise NameTaken(f"The guard rail name {name[:80]!r} is in use. Choose another name.")
        raise UnknownGuardRail(f"Guard rail {name[:80]!r} does not exist.")
    caller_of(request).require(Action.RAIL_WRITE, row.scope)
