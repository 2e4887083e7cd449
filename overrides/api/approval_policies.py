"""HTTP endpoints for approval policies."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, StrictSerializer, Text, Whole, parse_body
from controlplane.api.pages import PageQuery, page_response, paginate
from controlplane.api.scopes import ScopeRead, ScopeWrite, show_scope
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import change_request_examples as examples
from overrides.approval_models import ApprovalPolicy
from overrides.approvals.changes import change_policy, create_policy, delete_policy
from overrides.approvals.decisions import MOST_APPROVALS
from overrides.approvals.storage import find_policy, visible

_TAGS = ["approval policies"]


class ApprovalPolicyWrite(StrictSerializer):
    """How many approvals changes of overrides at and below a scope need."""

    scope = ScopeWrite(required=False)
    approvals = Whole(min_value=1, max_value=MOST_APPROVALS, help_text="By people other than the author.")
    reason = Text(required=False, default="", allow_blank=True, max_length=500)


class ApprovalPolicyPatch(StrictSerializer):
    """What to change of a policy."""

    approvals = Whole(required=False, min_value=1, max_value=MOST_APPROVALS)
    reason = Text(required=False, allow_blank=True, max_length=500)


class ApprovalPolicyRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    scope = ScopeRead()
    approvals = serializers.IntegerField()
    reason = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    version = serializers.IntegerField()


class ApprovalPolicyPage(serializers.Serializer[Any]):
    items = ApprovalPolicyRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ApprovalPolicyListQuery(PageQuery):
    q = SearchField("project", "domain", "workflow", "reason", "created_by")
    sort = SortField(SortKeys.of("approvals", created_at="id"), default="created_at")


class PolicyCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ, "POST": Action.APPROVAL_WRITE}
    problems = {"POST": (errors.UnknownProject, errors.UnknownDomain, errors.InvalidScope, errors.Conflict)}

    @extend_schema(
        operation_id="approval_policies_list",
        summary="List approval policies",
        description="Lists policies that cover scopes which the caller can read.",
        tags=_TAGS,
        parameters=[ApprovalPolicyListQuery],
        responses=ApprovalPolicyPage,
        examples=[examples.POLICY_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = ApprovalPolicyListQuery.parse(request)
        rows = ApprovalPolicy.objects.filter(visible(caller_of(request)))
        return page_response(
            request,
            paginate(request, rows.filter(query["q"]), order=query["sort"], query=query),
            show_policy_row,
        )

    @extend_schema(
        operation_id="approval_policies_create",
        summary="Require approvals at a scope",
        description=(
            "From now on, changes of overrides at and below the scope are refused with `approval_required`, "
            "unless they come from a change request that others approved. Of several policies on the path "
            "to a scope, the strictest holds. Overrides from files are not held."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=ApprovalPolicyWrite,
        responses={201: ApprovalPolicyRead},
        examples=[examples.POLICY_WRITE, examples.POLICY_CREATED],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(ApprovalPolicyWrite, request)
        scope = Scope(**body.get("scope", {}))
        caller_of(request).require(Action.APPROVAL_WRITE, scope)
        actor = actor_of(request, query["change_message"] or body["reason"])
        row = create_policy(scope, approvals=body["approvals"], reason=body["reason"], actor=actor)
        return _answer(row, status=201)


class PolicyItem(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ, "PATCH": Action.APPROVAL_WRITE, "DELETE": Action.APPROVAL_WRITE}
    problems = dict.fromkeys(("GET", "PATCH", "DELETE"), (errors.UnknownApprovalPolicy,))
    has_versions = True

    @extend_schema(
        operation_id="approval_policies_get",
        summary="Get one approval policy",
        description="Returns an ETag; send it as `If-Match` to change or delete exactly this version.",
        tags=_TAGS,
        responses=ApprovalPolicyRead,
        examples=[examples.POLICY],
    )
    def get(self, request: Request, policy: UUID) -> Response:
        Query.parse(request)
        row = find_policy(policy, caller_of(request))
        return respond(request, show_policy_row(row), etag=version_etag(row.version))

    @extend_schema(
        operation_id="approval_policies_update",
        summary="Change an approval policy",
        description="Changes the number of approvals or the reason. If-Match is optional.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=ApprovalPolicyPatch,
        responses=ApprovalPolicyRead,
        examples=[examples.POLICY_PATCH, examples.POLICY],
    )
    @mutation
    def patch(self, request: Request, policy: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        row = _own(request, policy)
        fields = parse_body(ApprovalPolicyPatch, request)
        if not fields:
            message = "Send at least one of approvals and reason."
            raise InvalidRequest(message, errors=[FieldError("", "required", message)])
        actor = actor_of(request, query["change_message"])
        return _answer(change_policy(row.id, fields, actor=actor, precondition=parse_precondition(request)))

    @extend_schema(
        operation_id="approval_policies_delete",
        summary="Delete an approval policy",
        description="Overrides at the scope may change at once. If-Match is optional.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, policy: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        row = _own(request, policy)
        actor = actor_of(request, query["change_message"])
        delete_policy(row.id, actor=actor, precondition=parse_precondition(request))
        return Response(status=204)


def show_policy_row(row: ApprovalPolicy) -> dict[str, Any]:
    return {**ApprovalPolicyRead(row).data, "scope": show_scope(row.scope)}


def _own(request: Request, policy: UUID) -> ApprovalPolicy:
    """Return a policy that the caller may change. Raises UnknownApprovalPolicy, PermissionDenied."""
    row = find_policy(policy, caller_of(request))
    caller_of(request).require(Action.APPROVAL_WRITE, row.scope)
    return row


def _answer(row: ApprovalPolicy, *, status: int = 200) -> Response:
    return Response(show_policy_row(row), status=status, headers={"ETag": version_etag(row.version)})
