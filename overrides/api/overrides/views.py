"""Doors to overrides: parse, authorise, call, answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.bodies import JsonPatchParser, MergePatchParser
from controlplane.api.endpoints import Endpoint, actor_of, caller_of, mutation
from controlplane.api.etags import respond, version_etag
from controlplane.api.fields import parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.api.scopes import scope_from
from controlplane.identity.roles import Action
from controlplane.scopes import SEGMENTS, Level
from overrides.api import examples
from overrides.api import schemas as shapes
from overrides.api.as_of import ScopeAsOfQuery, as_of
from overrides.api.overrides.patch_schema import JsonPatchOperation
from overrides.api.plan_schemas import PlanRead, show_plan
from overrides.api.write_options import terms_from
from overrides.editing.writes import (
    delete_override,
    get_override,
    json_patch_override,
    patch_override,
    preview_override,
    put_override,
)
from overrides.history.history import override_as_of, standing_as_of
from overrides.models import Override
from overrides.querysets import ORDERS
from overrides.resolution.addresses import Address


class OverrideCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}

    @extend_schema(
        operation_id="overrides_list",
        summary="List overrides",
        description="Overrides as they are set, not as they combine; only those that you may read.",
        tags=["overrides"],
        parameters=[shapes.OverrideListQuery],
        responses=shapes.OverridePage,
        examples=[examples.OVERRIDE_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = shapes.OverrideListQuery.parse(request)
        then = as_of(query)
        rows: Any = Override.objects.all() if then is None else standing_as_of(then)
        rows = rows.within(caller_of(request).scopes_for(Action.OVERRIDE_READ))
        columns = (*SEGMENTS, "resource_type", "changed_by")
        rows = rows.filter(**{name: query[name] for name in columns if name in query})
        if "level" in query:
            rows = rows.at_level(Level[query["level"].upper()])
        if "managed_by" in query:
            rows = rows.managed_by(query["managed_by"])
        if "q" in query:
            rows = rows.mentioning(query["q"])
        page = paginate(request, rows, order=ORDERS[query["sort"]], query=query)
        return page_response(
            request, page, shapes.show_override if then is None else shapes.show_past_override
        )


class OverrideItem(Endpoint):
    actions = {
        "GET": Action.OVERRIDE_READ,
        "PUT": Action.OVERRIDE_WRITE,
        "PATCH": Action.OVERRIDE_WRITE,
        "DELETE": Action.OVERRIDE_WRITE,
    }
    problems = {
        "PUT": (
            errors.ManagedElsewhere,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
        ),
        "PATCH": (
            errors.ManagedElsewhere,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
            errors.PatchFailed,
        ),
        "DELETE": (
            errors.ManagedElsewhere,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
        ),
    }
    has_versions = True

    def get_parsers(self) -> list[BaseParser]:
        return [*super().get_parsers(), *([MergePatchParser(), JsonPatchParser()] if self._patches else [])]

    @property
    def _patches(self) -> bool:
        return getattr(self.request, "method", None) == "PATCH"

    @extend_schema(
        operation_id="overrides_get",
        summary="Get one override",
        description="404 where nothing is set, even if values are inherited; for those see `effective`.",
        tags=["overrides"],
        parameters=[ScopeAsOfQuery],
        responses=shapes.OverrideRead,
        examples=[examples.OVERRIDE],
    )
    def get(self, request: Request, resource_type: str) -> Response:
        query = ScopeAsOfQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_READ)
        if (then := as_of(query)) is not None:
            past = override_as_of(address, then)
            return respond(request, shapes.show_past_override(past), etag=version_etag(past.version))
        override = get_override(address)
        return respond(request, shapes.show_override(override), etag=version_etag(override.version))

    @extend_schema(
        operation_id="overrides_put",
        summary="Create or replace an override",
        description=(
            "Creates with 201; replaces with 200, and then wants If-Match with the ETag that you read. "
            "A member that is absent is inherited; a member that is null removes what would be inherited. "
            "Refused if a scope that inherits would resolve to something invalid."
        ),
        tags=["overrides"],
        parameters=[shapes.OverrideMutationQuery],
        request=shapes.OverrideWrite,
        responses={200: shapes.OverrideRead, 201: shapes.OverrideRead},
        examples=[examples.OVERRIDE_WRITE, examples.OVERRIDE, examples.OVERRIDE_CREATED],
    )
    @mutation
    def put(self, request: Request, resource_type: str) -> Response:
        query = shapes.OverrideMutationQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_WRITE)
        override, created = put_override(
            address,
            parse_body(shapes.OverrideWrite, request)["attributes"],
            actor=actor_of(request, query["change_message"]),
            terms=terms_from(request, query, [address.scope]),
        )
        return _written(override, status=201 if created else 200)

    @extend_schema(
        operation_id="overrides_patch",
        summary="Change part of an override",
        description=(
            "JSON merge patch (RFC 7396) of the attributes set here: null takes a member out of this scope, "
            "so that it is inherited again. Or a JSON Patch (RFC 6902) with pointers into "
            '`{"attributes": …}`: there null sets a null, and a `test` that fails, or a location that does '
            "not exist, is a 409 that changes nothing. If-Match is honoured, not required."
        ),
        tags=["overrides"],
        parameters=[shapes.OverrideMutationQuery],
        request={
            "application/json": shapes.OverrideWrite,
            "application/merge-patch+json": shapes.OverrideWrite,
            "application/json-patch+json": JsonPatchOperation(many=True),
        },
        responses=shapes.OverrideRead,
        examples=[*examples.OVERRIDE_PATCHES, examples.OVERRIDE],
    )
    @mutation
    def patch(self, request: Request, resource_type: str) -> Response:
        query = shapes.OverrideMutationQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_WRITE)
        actor = actor_of(request, query["change_message"])
        terms = terms_from(request, query, [address.scope])
        if _media_type(request) == JsonPatchParser.media_type:
            override = json_patch_override(address, request.data, actor=actor, terms=terms)
        else:
            patch = parse_body(shapes.OverrideWrite, request)["attributes"]
            override = patch_override(address, patch, actor=actor, terms=terms)
        return _written(override, status=200)

    @extend_schema(
        operation_id="overrides_delete",
        summary="Delete an override",
        description="The scope inherits again. Wants If-Match with the ETag that you read.",
        tags=["overrides"],
        parameters=[shapes.OverrideMutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, resource_type: str) -> Response:
        query = shapes.OverrideMutationQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_WRITE)
        delete_override(
            address,
            actor=actor_of(request, query["change_message"]),
            terms=terms_from(request, query, [address.scope]),
        )
        return Response(status=204)


class OverridePreview(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    has_versions = True

    @extend_schema(
        operation_id="overrides_preview",
        summary="Preview a change of one override",
        description=(
            "Checks all that a PUT checks, If-Match too, and answers the plan: what differs in the document, "
            "which effective values change, at how many scopes. Nothing is kept. Without `attributes`: what "
            "removing it would do. `affected_scopes` is the number to confirm."
        ),
        tags=["overrides"],
        parameters=[shapes.OverrideMutationQuery],
        request=shapes.OverridePreviewWrite,
        responses=PlanRead,
        examples=[examples.OVERRIDE_WRITE, examples.PLAN],
    )
    @mutation
    def post(self, request: Request, resource_type: str) -> Response:
        query = shapes.OverrideMutationQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_WRITE)
        terms = terms_from(request, query, [address.scope], wants_plan=True)
        plan = preview_override(
            address,
            parse_body(shapes.OverridePreviewWrite, request).get("attributes"),
            actor=actor_of(request, query["change_message"]),
            terms=replace(terms, limits=replace(terms.limits, asks=False)),
        )
        return Response(show_plan(plan))


def address_from(request: Request, resource_type: str, query: dict[str, Any], action: Action) -> Address:
    """Authorise before anything is looked up: what exists elsewhere is nobody's business."""
    scope = scope_from(query)
    caller_of(request).require(action, scope)
    return Address(resource_type, scope)


def _media_type(request: Request) -> str:
    return (request.content_type or "").partition(";")[0].strip().lower()


def _written(override: Override, *, status: int) -> Response:
    return Response(
        shapes.show_override(override),
        status=status,
        headers={"ETag": version_etag(override.version)},
    )
