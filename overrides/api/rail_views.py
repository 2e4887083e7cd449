"""Doors to guard rails."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.roles import Action
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.scopes import ScopeRead, ScopeWrite, show_scope
from controlplane.errors import FieldError, InvalidRequest, UnknownGuardRail
from controlplane.scopes import LEVEL_NAMES
from overrides.api import examples
from overrides.api.serializers import AnyJSONField
from overrides.api.time_travel import AsOfQuery, as_of
from overrides.models import GuardRailRow
from overrides.rail_documents import rail_from
from overrides.rail_editing import delete_rail, get_rail, put_rail


class RailRule(serializers.Serializer[Any]):
    """At least one of these."""

    lock_below = serializers.ChoiceField(
        choices=LEVEL_NAMES, required=False, help_text="More specific levels may not set the field."
    )
    minimum = AnyJSONField(required=False, help_text="A number, or a quantity such as 500m.")
    maximum = AnyJSONField(required=False)
    allowed = serializers.ListField(
        child=AnyJSONField(), required=False, help_text="The only legal values; of a list, of its items."
    )


class RailWriteShape(serializers.Serializer[Any]):
    """A limit of one field, for a scope and all below it."""

    name = serializers.CharField(help_text="Lower-case letters, digits, inner hyphens.")
    scope = ScopeWrite(required=False)
    resource_type = serializers.CharField()
    pointer = serializers.CharField(help_text="The field, as /limits/cpu; `*` stands for any step.")
    rule = RailRule()
    reason = serializers.CharField(required=False, max_length=500, help_text="Shown to whom it stops.")

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
    resource_type = serializers.CharField(required=False, help_text="Only of this type.")


class RailMutationQuery(ReasonedQuery):
    accept_existing = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Put it up although overrides break it: they stay stored and do not apply.",
    )


class RailCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}

    @extend_schema(
        operation_id="guard_rails_list",
        summary="List the guard rails",
        tags=["guard rails"],
        parameters=[RailListQuery],
        responses=GuardRailPage,
        examples=[examples.RAILS],
    )
    def get(self, request: Request) -> Response:
        query = RailListQuery.parse(request)
        rows = GuardRailRow.objects.as_of(as_of(query))
        if "resource_type" in query:
            rows = rows.filter(resource_type=query["resource_type"])
        return page_response(request, paginate(request, rows, order=("name",), query=query), show_rail)


class RailItem(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ, "PUT": Action.RAIL_WRITE, "DELETE": Action.RAIL_WRITE}
    has_versions = True

    @extend_schema(
        operation_id="guard_rails_get",
        summary="Read one guard rail",
        tags=["guard rails"],
        parameters=[AsOfQuery],
        responses=GuardRailRead,
        examples=[examples.RAIL],
    )
    def get(self, request: Request, name: str) -> Response:
        then = as_of(AsOfQuery.parse(request))
        row = GuardRailRow.objects.as_of(then).filter(name=name).first()
        if row is None:
            raise UnknownGuardRail(f"There is no guard rail {name[:80]!r}.")
        return respond(request, show_rail(row), etag=version_etag(row.version))

    @extend_schema(
        operation_id="guard_rails_put",
        summary="Put up a guard rail, or change it",
        description=(
            "Lock a field below a level, or say its minimum, maximum or allowed values, for a scope and all "
            "below it. Writes that break it are refused; inherited values that break it do not apply there. "
            "Refused with the overrides that break it already, unless `accept_existing=true`."
        ),
        tags=["guard rails"],
        parameters=[RailMutationQuery],
        request=RailWriteShape,
        responses={200: GuardRailRead, 201: GuardRailRead},
        examples=[examples.RAIL_WRITE, examples.RAIL],
    )
    @mutation
    def put(self, request: Request, name: str) -> Response:
        query = RailMutationQuery.parse(request)
        wanted = rail_from(request.data)
        if wanted.name != name:
            message = f"The path says {name[:80]!r}, the body {wanted.name!r}."
            raise InvalidRequest(message, errors=[FieldError("/name", "other_name", message)])
        _require(request, name)
        caller_of(request).require(Action.RAIL_WRITE, wanted.scope)
        row, created = put_rail(
            wanted,
            actor=actor_of(request, query["change_message"]),
            precondition=parse_precondition(request),
            accept_existing=query["accept_existing"],
        )
        headers = {"ETag": version_etag(row.version)}
        return Response(show_rail(row), status=201 if created else 200, headers=headers)

    @extend_schema(
        operation_id="guard_rails_delete",
        summary="Take a guard rail away",
        description="What it kept out applies again.",
        tags=["guard rails"],
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, name: str) -> Response:
        query = ReasonedQuery.parse(request)
        _require(request, name)
        actor = actor_of(request, query["change_message"])
        delete_rail(name, actor=actor, precondition=parse_precondition(request))
        return Response(status=204)


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


def _require(request: Request, name: str) -> None:
    """A rail that stands may only be touched by who rules its scope; a new one has none yet."""
    try:
        caller_of(request).require(Action.RAIL_WRITE, get_rail(name).scope)
    except UnknownGuardRail:
        return
