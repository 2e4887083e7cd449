"""HTTP endpoints for freezes of overrides."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Instant, Query, StrictSerializer, Text, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.scopes import ScopeRead, ScopeWrite, show_scope
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.database.clock import statement_now
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import freeze_examples as examples
from overrides.freeze_models import OverrideFreeze
from overrides.freezes.changes import amend_freeze, declare_freeze, end_freeze
from overrides.freezes.decisions import FreezeState, state_of
from overrides.freezes.storage import as_freeze, find_freeze, in_state, visible

FREEZE_STATES = [(state.value, state.value) for state in FreezeState]
_TAGS = ["freezes"]


class OverrideFreezeWrite(StrictSerializer):
    """A time in which overrides at and below a scope may not change."""

    scope = ScopeWrite(required=False)
    starts_at = Instant(required=False, help_text="Absent: now.")
    ends_at = Instant(help_text="From this time on, overrides may change again.")
    reason = Text(max_length=500, help_text="Shown to those whose change is refused.")


class OverrideFreezePatch(StrictSerializer):
    """What to change of a freeze."""

    starts_at = Instant(required=False, help_text="Only before the freeze has started.")
    ends_at = Instant(required=False)
    reason = Text(required=False, max_length=500)


class OverrideFreezeRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    scope = ScopeRead()
    state = serializers.ChoiceField(choices=FREEZE_STATES)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    ended_at = serializers.DateTimeField(allow_null=True, help_text="When it was ended before its time.")
    ended_by = serializers.CharField(help_text="Who ended it before its time; otherwise empty.")
    version = serializers.IntegerField()


class OverrideFreezePage(serializers.Serializer[Any]):
    items = OverrideFreezeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class FreezeListQuery(PageQuery):
    state = serializers.ChoiceField(choices=FREEZE_STATES, required=False, help_text="Only in this state.")
    q = SearchField("project", "domain", "workflow", "reason", "created_by")
    sort = SortField(SortKeys.of("starts_at", "ends_at", created_at="id"), default="created_at")


class FreezeCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ, "POST": Action.FREEZE_WRITE}
    problems = {"POST": (errors.UnknownProject, errors.UnknownDomain, errors.InvalidScope)}

    @extend_schema(
        operation_id="override_freezes_list",
        summary="List freezes",
        description="Lists upcoming, active and ended freezes that cover scopes which the caller can read.",
        tags=_TAGS,
        parameters=[FreezeListQuery],
        responses=OverrideFreezePage,
        examples=[examples.FREEZE_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = FreezeListQuery.parse(request)
        now = statement_now()
        rows = (
            in_state(FreezeState(query["state"]), now) if "state" in query else OverrideFreeze.objects.all()
        )
        rows = rows.filter(visible(caller_of(request)))
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, partial(show_freeze, now=now))

    @extend_schema(
        operation_id="override_freezes_create",
        summary="Declare a freeze",
        description=(
            "From `starts_at` until `ends_at`, by the database's clock, changes of overrides at and below "
            "the scope are refused with `change_frozen`. Changes above the scope are not."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=OverrideFreezeWrite,
        responses={201: OverrideFreezeRead},
        examples=[examples.FREEZE_WRITE, examples.FREEZE_CREATED],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(OverrideFreezeWrite, request)
        scope = Scope(**body.get("scope", {}))
        caller_of(request).require(Action.FREEZE_WRITE, scope)
        row = declare_freeze(
            scope,
            starts_at=body.get("starts_at"),
            ends_at=body["ends_at"],
            reason=body["reason"],
            actor=actor_of(request, query["change_message"] or body["reason"]),
        )
        return _answer(row, status=201)


class FreezeItem(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ, "PATCH": Action.FREEZE_WRITE}
    problems = {
        "GET": (errors.UnknownOverrideFreeze,),
        "PATCH": (errors.UnknownOverrideFreeze, errors.Conflict),
    }
    has_versions = True

    @extend_schema(
        operation_id="override_freezes_get",
        summary="Get one freeze",
        description="Returns an ETag; send it as `If-Match` to change or end exactly this version.",
        tags=_TAGS,
        responses=OverrideFreezeRead,
        examples=[examples.FREEZE],
    )
    def get(self, request: Request, freeze: UUID) -> Response:
        Query.parse(request)
        row = find_freeze(freeze, caller_of(request))
        return respond(request, show_freeze(row, now=statement_now()), etag=version_etag(row.version))

    @extend_schema(
        operation_id="override_freezes_update",
        summary="Change a freeze",
        description="Changes its end or reason, and before it has started its start. If-Match is optional.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=OverrideFreezePatch,
        responses=OverrideFreezeRead,
        examples=[examples.FREEZE_PATCH, examples.FREEZE],
    )
    @mutation
    def patch(self, request: Request, freeze: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        row = _own(request, freeze)
        fields = parse_body(OverrideFreezePatch, request)
        if not fields:
            message = "Send at least one of starts_at, ends_at and reason."
            raise InvalidRequest(message, errors=[FieldError("", "required", message)])
        actor = actor_of(request, query["change_message"])
        return _answer(amend_freeze(row.id, fields, actor=actor, precondition=parse_precondition(request)))


class EndFreeze(Endpoint):
    actions = {"POST": Action.FREEZE_WRITE}
    problems = {"POST": (errors.UnknownOverrideFreeze, errors.Conflict)}

    @extend_schema(
        operation_id="override_freezes_end",
        summary="End a freeze now",
        description="Overrides may change again at once. A freeze that has not started never does.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=OverrideFreezeRead,
        examples=[examples.FREEZE_ENDED],
    )
    @mutation
    def post(self, request: Request, freeze: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        row = _own(request, freeze)
        return _answer(end_freeze(row.id, actor=actor_of(request, query["change_message"])))


def show_freeze(row: OverrideFreeze, *, now: datetime) -> dict[str, Any]:
    return {
        "id": row.id,
        "scope": show_scope(row.scope),
        "state": state_of(as_freeze(row), now).value,
        "starts_at": row.starts_at,
        "ends_at": row.ends_at,
        "reason": row.reason,
        "created_at": row.created_at,
        "created_by": row.created_by,
        "ended_at": row.ended_at,
        "ended_by": row.ended_by,
        "version": row.version,
    }


def _own(request: Request, freeze: UUID) -> OverrideFreeze:
    """Return a freeze that the caller may change. Raises UnknownOverrideFreeze, PermissionDenied."""
    row = find_freeze(freeze, caller_of(request))
    caller_of(request).require(Action.FREEZE_WRITE, row.scope)
    return row


def _answer(row: OverrideFreeze, *, status: int = 200) -> Response:
    content = show_freeze(row, now=statement_now())
    return Response(content, status=status, headers={"ETag": version_etag(row.version)})
