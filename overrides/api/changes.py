"""HTTP endpoints for scheduled changes of overrides."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition
from controlplane.api.fields import Flag, Instant, Query, StrictSerializer, Text, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.scopes import ScopeRead, ScopeWrite, show_scope
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.roles import Action
from controlplane.scopes import SEGMENTS, Scope
from overrides.api import change_examples as examples
from overrides.api.schemas import AttributesField, FreezeOverrideQuery
from overrides.api.write_options import held_headers, override_options_from
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes, merge_patch
from overrides.resource_types import ResourceType
from overrides.scheduled_models import OverrideChange
from overrides.scheduling.changes import (
    ChangeSpec,
    Revise,
    cancel_change,
    deletion,
    find_change,
    schedule_change,
)
from overrides.scheduling.decisions import ChangeState

CHANGE_STATES = [(state.value, state.value) for state in ChangeState]
_TAGS = ["scheduled changes"]
_WAYS = ("attributes", "patch", "delete")


class OverrideChangeWrite(StrictSerializer):
    """A change of one override: exactly one of `attributes`, `patch` and `delete`."""

    scope = ScopeWrite(required=False)
    resource_type = Text(max_length=63)
    attributes = AttributesField(required=False, help_text="Replaces the attributes.")
    patch = AttributesField(required=False, help_text="JSON merge patch (RFC 7396) of the attributes.")
    delete = Flag(required=False, default=False, help_text="Deletes the override.")
    at = Instant(required=False, help_text="When to apply it. Absent: now.")
    until = Instant(required=False, help_text="When to restore what it replaced. Absent: never.")
    message = Text(required=False, default="", allow_blank=True, max_length=400)


class OverrideChangeRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    resource_type = serializers.CharField()
    scope = ScopeRead()
    state = serializers.ChoiceField(choices=CHANGE_STATES)
    attributes = AttributesField(allow_null=True, help_text="After the change; null if it deletes.")
    before = AttributesField(allow_null=True, help_text="What it replaced; null if nothing was set.")
    at = serializers.DateTimeField()
    until = serializers.DateTimeField(allow_null=True)
    due_at = serializers.DateTimeField(allow_null=True, help_text="When something is done next.")
    problem = serializers.CharField(help_text="Why it was refused, or what its end waits for.")
    message = serializers.CharField()
    planned_version = serializers.IntegerField(help_text="Version of the override that it was planned for.")
    applied_version = serializers.IntegerField(allow_null=True, help_text="Version that it made.")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    applied_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class OverrideChangePage(serializers.Serializer[Any]):
    items = OverrideChangeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ChangeListQuery(PageQuery):
    state = serializers.ChoiceField(choices=CHANGE_STATES, required=False, help_text="Only in this state.")
    project = serializers.CharField(required=False, help_text="Only this project.")
    domain = serializers.CharField(required=False, help_text="Only this domain.")
    workflow = serializers.CharField(required=False, help_text="Only this workflow.")
    launch_plan = serializers.CharField(required=False, help_text="Only this launch plan.")
    resource_type = serializers.CharField(required=False, help_text="Only this type.")
    affecting = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Only pending changes that the scope of `project`, `domain`, `workflow` and `launch_plan` "
        "inherits: those at the scope and above. They say until when its effective values apply.",
    )
    q = SearchField("resource_type", "project", "workflow", "message", "created_by")
    sort = SortField(SortKeys.of("state", "resource_type", "at", created_at="id"), default="created_at")


def _affecting(request: Request, query: dict[str, Any]) -> Any:
    """Return what is pending for the effective values at a scope, which the caller must be able to read."""
    scope = Scope(**{name: query.get(name, "") for name in SEGMENTS})
    caller_of(request).require(Action.OVERRIDE_READ, scope)
    return OverrideChange.objects.covering(scope).filter(due_at__isnull=False)


class ChangeCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ, "POST": Action.OVERRIDE_WRITE}
    problems = {
        "POST": (
            errors.UnknownProject,
            errors.UnknownDomain,
            errors.UnknownResourceType,
            errors.UnknownOverride,
            errors.InvalidScope,
            errors.InvalidAttributes,
            errors.Conflict,
            errors.ChangeFrozen,
            errors.ApprovalRequired,
            errors.ConfirmationRequired,
            errors.SourceIsReadOnly,
            errors.VersionMismatch,
        )
    }

    @extend_schema(
        operation_id="override_changes_list",
        summary="List scheduled changes",
        description="Lists scheduled, applied and finished changes at scopes that the caller can read.",
        tags=_TAGS,
        parameters=[ChangeListQuery],
        responses=OverrideChangePage,
        examples=[examples.CHANGE_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = ChangeListQuery.parse(request)
        if query["affecting"]:
            rows, names = _affecting(request, query), ["state", "resource_type"]
        else:
            rows = OverrideChange.objects.within(caller_of(request).scopes_for(Action.OVERRIDE_READ))
            names = ["state", "resource_type", *SEGMENTS]
        rows = rows.filter(**{name: query[name] for name in names if name in query})
        return page_response(
            request, paginate(request, rows.filter(query["q"]), order=query["sort"], query=query), show_change
        )

    @extend_schema(
        operation_id="override_changes_create",
        summary="Schedule a change, or make one that expires",
        description=(
            "Applied at `at`, by the rights that the author then has, and only if the override still has the "
            "version that it had now; otherwise the change is `refused` with the reason. At `until`, what it "
            "replaced is restored, unless somebody changed it since. Without `at` it is applied at once. "
            "It is validated now; If-Match is optional."
        ),
        tags=_TAGS,
        parameters=[FreezeOverrideQuery],
        request=OverrideChangeWrite,
        responses={201: OverrideChangeRead},
        examples=[examples.CHANGE_WRITE, examples.CHANGE_CREATED],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = FreezeOverrideQuery.parse(request)
        body = parse_body(OverrideChangeWrite, request)
        scope = Scope(**body.get("scope", {}))
        caller_of(request).require(Action.OVERRIDE_WRITE, scope)
        message = body["message"] or query["change_message"][:400]
        spec = ChangeSpec(
            Address(body["resource_type"], scope),
            _revise(body),
            at=body.get("at"),
            until=body.get("until"),
            message=message,
        )
        row = schedule_change(
            spec,
            actor=actor_of(request, message),
            options=override_options_from(request, query),
            precondition=parse_precondition(request),
        )
        headers = {} if spec.at else held_headers(query, scope)
        return Response(show_change(row), status=201, headers=headers)


class ChangeItem(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    problems = {"GET": (errors.UnknownOverrideChange,)}

    @extend_schema(
        operation_id="override_changes_get",
        summary="Get one scheduled change",
        description="With its state, and the reason if it was refused.",
        tags=_TAGS,
        responses=OverrideChangeRead,
        examples=[examples.CHANGE],
    )
    def get(self, request: Request, change: UUID) -> Response:
        Query.parse(request)
        return Response(show_change(find_change(change, caller_of(request))))


class CancelChange(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {"POST": (errors.UnknownOverrideChange, errors.Conflict)}

    @extend_schema(
        operation_id="override_changes_cancel",
        summary="Cancel a scheduled change",
        description="A scheduled change is never applied. One that is applied does not expire any more.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=OverrideChangeRead,
        examples=[examples.CHANGE_CANCELLED],
    )
    @mutation
    def post(self, request: Request, change: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        row = find_change(change, caller_of(request))
        caller_of(request).require(Action.OVERRIDE_WRITE, row.scope)
        return Response(show_change(cancel_change(row.id, actor=actor_of(request, query["change_message"]))))


def show_change(row: OverrideChange) -> dict[str, Any]:
    return {**OverrideChangeRead(row).data, "scope": show_scope(row.scope)}


def _revise(body: dict[str, Any]) -> Revise:
    """Return what the body wants. Raises InvalidRequest unless it is exactly one thing."""
    given = [name for name in _WAYS if name in body and body[name] is not False]
    if len(given) != 1:
        message = "Send exactly one of attributes, patch and delete."
        raise InvalidRequest(message, errors=[FieldError("", "required", message)])
    if given == ["delete"]:
        return deletion
    return (
        partial(_replaced, body["attributes"])
        if given == ["attributes"]
        else partial(_patched, body["patch"])
    )


def _replaced(attributes: Attributes, resource_type: ResourceType, before: Attributes | None) -> Attributes:
    return resource_type.read(attributes)


def _patched(patch: Attributes, resource_type: ResourceType, before: Attributes | None) -> Attributes:
    return merge_patch(before or {}, resource_type.read(patch))
