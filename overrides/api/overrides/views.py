"""HTTP endpoints for overrides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.bodies import JsonPatchParser, MergePatchParser
from controlplane.api.endpoints import OF_LISTS, Endpoint, caller_of, mutation
from controlplane.api.etags import respond, version_etag
from controlplane.api.fields import parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.api.scopes import scope_from
from controlplane.identity.roles import Action
from controlplane.scopes import SEGMENTS, Level
from overrides.api import examples, schemas
from overrides.api.as_of import ScopeAsOfQuery, as_of
from overrides.api.plan_schemas import PlanRead, show_plan
from overrides.api.write_options import author_of, held_headers, write_options_from
from overrides.editing.writes import (
    delete_override,
    get_override,
    json_patch_override,
    patch_override,
    preview_override,
    put_override,
)
from overrides.history.history import override_as_of, overrides_as_of
from overrides.models import Override
from overrides.resolution.addresses import Address
from overrides.value_queries import sets_value


class OverrideCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="overrides_list",
        summary="List overrides",
        description="Lists overrides as they are set, without inheritance, as far as the caller can read "
        "them.",
        tags=["overrides"],
        parameters=[schemas.OverrideListQuery],
        responses=schemas.OverridePage,
        examples=[examples.OVERRIDE_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.OverrideListQuery.parse(request)
        past_revision = as_of(query)
        rows: Any = Override.objects.all() if past_revision is None else overrides_as_of(past_revision)
        rows = rows.within(caller_of(request).scopes_for(Action.OVERRIDE_READ))
        columns = (*SEGMENTS, "resource_type", "changed_by")
        rows = rows.filter(**{name: query[name] for name in columns if name in query})
        if "level" in query:
            rows = rows.at_level(Level[query["level"].upper()])
        if "managed_by" in query:
            rows = rows.managed_by(query["managed_by"])
        if "q" in query:
            rows = rows.mentioning(query["q"])
        if "value" in query:
            rows = rows.filter(sets_value(query["value"]))
        page = paginate(request, rows, order=query["sort"], query=query)
        return page_response(
            request, page, schemas.show_override if past_revision is None else schemas.show_past_override
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
            errors.ChangeFrozen,
            errors.ApprovalRequired,
        ),
        "PATCH": (
            errors.ManagedElsewhere,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
            errors.ChangeFrozen,
            errors.ApprovalRequired,
            errors.PatchFailed,
        ),
        "DELETE": (
            errors.ManagedElsewhere,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
            errors.ChangeFrozen,
            errors.ApprovalRequired,
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
        description="Returns 404 if nothing is set, even if values are inherited; for those see `effective`.",
        tags=["overrides"],
        parameters=[ScopeAsOfQuery],
        responses=schemas.OverrideRead,
        examples=[examples.OVERRIDE],
    )
    def get(self, request: Request, resource_type: str) -> Response:
        query = ScopeAsOfQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_READ)
        if (past_revision := as_of(query)) is not None:
            past = override_as_of(address, past_revision)
            return respond(request, schemas.show_past_override(past), etag=version_etag(past.version))
        override = get_override(address)
        return respond(request, schemas.show_override(override), etag=version_etag(override.version))

    @extend_schema(
        operation_id="overrides_put",
        summary="Create or replace an override",
        description=(
            "Creates with 201; replaces with 200, which requires If-Match with the override's ETag. "
            "Absent members are inherited; null members remove the inherited value. Refused if a scope that "
            "inherits would resolve to invalid attributes."
        ),
        tags=["overrides"],
        parameters=[schemas.OverrideMutationQuery],
        request=schemas.OverrideWrite,
        responses={200: schemas.OverrideRead, 201: schemas.OverrideRead},
        examples=[examples.OVERRIDE_WRITE, examples.OVERRIDE, examples.OVERRIDE_CREATED],
    )
    @mutation
    def put(self, request: Request, resource_type: str) -> Response:
        query = schemas.OverrideMutationQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_WRITE)
        override, created = put_override(
            address,
            parse_body(schemas.OverrideWrite, request)["attributes"],
            actor=author_of(request, query),
            options=write_options_from(request, query, [address.scope]),
        )
        headers = held_headers(query, address.scope)
        return _written(override, status=201 if created else 200, headers=headers)

    @extend_schema(
        operation_id="overrides_patch",
        summary="Change part of an override",
        description=(
            "Accepts a JSON merge patch (RFC 7396) of the override's attributes: null removes a member, so "
            "that it is inherited again. Or a JSON Patch (RFC 6902) with pointers into "
            '`{"attributes": …}`: null sets a null, and a `test` that fails, or a location that does not '
            "exist, is a 409 that changes nothing. If-Match is optional."
        ),
        tags=["overrides"],
        parameters=[schemas.OverrideMutationQuery],
        request={
            "application/json": schemas.OverrideWrite,
            "application/merge-patch+json": schemas.OverrideWrite,
            "application/json-patch+json": schemas.JsonPatchOperation(many=True),
        },
        responses=schemas.OverrideRead,
        examples=[*examples.OVERRIDE_PATCHES, examples.OVERRIDE],
    )
    @mutation
    def patch(self, request: Request, resource_type: str) -> Response:
        query = schemas.OverrideMutationQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_WRITE)
        actor = author_of(request, query)
        options = write_options_from(request, query, [address.scope])
        if _media_type(request) == JsonPatchParser.media_type:
            override = json_patch_override(address, request.data, actor=actor, options=options)
        else:
            patch = parse_body(schemas.OverrideWrite, request)["attributes"]
            override = patch_override(address, patch, actor=actor, options=options)
        return _written(override, status=200, headers=held_headers(query, address.scope))

    @extend_schema(
        operation_id="overrides_delete",
        summary="Delete an override",
        description="The scope inherits again. Requires If-Match with the override's ETag.",
        tags=["overrides"],
        parameters=[schemas.OverrideMutationQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, resource_type: str) -> Response:
        query = schemas.OverrideMutationQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_WRITE)
        delete_override(
            address,
            actor=author_of(request, query),
            options=write_options_from(request, query, [address.scope]),
        )
        return Response(status=204, headers=held_headers(query, address.scope))


class OverridePreview(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    has_versions = True

    @extend_schema(
        operation_id="overrides_preview",
        summary="Preview a change of one override",
        description=(
            "Validates like a PUT and returns the plan without writing: what differs in the document, which "
            "effective values change, and at how many scopes. Without `attributes`, previews a deletion. "
            "`affected_scopes` is the number to confirm. If-Match is optional."
        ),
        tags=["overrides"],
        parameters=[schemas.OverrideMutationQuery],
        request=schemas.OverridePreviewWrite,
        responses=PlanRead,
        examples=[examples.OVERRIDE_WRITE, examples.PLAN],
    )
    @mutation
    def post(self, request: Request, resource_type: str) -> Response:
        query = schemas.OverrideMutationQuery.parse(request)
        address = address_from(request, resource_type, query, Action.OVERRIDE_WRITE)
        options = write_options_from(request, query, [address.scope], wants_plan=True)
        stated = options.precondition
        plan = preview_override(
            address,
            parse_body(schemas.OverridePreviewWrite, request).get("attributes"),
            actor=author_of(request, query),
            options=replace(
                options,
                precondition=stated and replace(stated, may_omit_version=True),
                commit_options=replace(
                    options.commit_options, asks=False, heeds_freezes=False, heeds_approvals=False
                ),
            ),
        )
        return Response(show_plan(plan, caller_of(request)))


def address_from(request: Request, resource_type: str, query: dict[str, Any], action: Action) -> Address:
    """Return the address. Authorise before anything is looked up, so that nothing is disclosed."""
    scope = scope_from(query)
    caller_of(request).require(action, scope)
    return Address(resource_type, scope)


def _media_type(request: Request) -> str:
    return (request.content_type or "").partition(";")[0].strip().lower()


def _written(override: Override, *, status: int, headers: dict[str, str]) -> Response:
    return Response(
        schemas.show_override(override),
        status=status,
        headers={"ETag": version_etag(override.version), **headers},
    )
