"""HTTP endpoints for change requests."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.models import Token
from controlplane.access.people import people_behind
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.database.clock import statement_now
from controlplane.errors import FieldError, InvalidRequest, NotIndependent
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import change_request_examples as examples
from overrides.api.change_request_schemas import (
    ApprovalWrite,
    ChangeRequestDetails,
    ChangeRequestListQuery,
    ChangeRequestPage,
    ChangeRequestWrite,
    CommentWrite,
    PublicationWrite,
    RejectionWrite,
    show_request,
    show_requests,
)
from overrides.api.schemas import PublicationQuery
from overrides.api.write_options import freeze_override_from
from overrides.approval_models import ChangeRequest
from overrides.change_requests.decisions import Reviewer, Way
from overrides.change_requests.planning import RequestedChange
from overrides.change_requests.publishing import publish_request
from overrides.change_requests.requests import (
    Proposal,
    comment_on_request,
    open_request,
    refresh_request,
    withdraw_request,
)
from overrides.change_requests.review import approve_request, reject_request
from overrides.change_requests.storage import assigned_to, authored_by, find_request, visible
from overrides.editing.commit import CommitOptions
from overrides.resolution.addresses import Address

_TAGS = ["change requests"]
_OF_WRITES = (
    errors.UnknownProject,
    errors.UnknownDomain,
    errors.UnknownResourceType,
    errors.UnknownOverride,
    errors.InvalidScope,
    errors.InvalidAttributes,
    errors.ManagedElsewhere,
    errors.SourceIsReadOnly,
)
_OF_STEPS = (errors.UnknownChangeRequest, errors.Conflict)


class RequestCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ, "POST": Action.OVERRIDE_WRITE}
    problems = {"POST": _OF_WRITES}

    @extend_schema(
        operation_id="change_requests_list",
        summary="List change requests",
        description="Lists change requests at scopes that the caller can read.",
        tags=_TAGS,
        parameters=[ChangeRequestListQuery],
        responses=ChangeRequestPage,
        examples=[examples.REQUEST_PAGE],
    )
    def get(self, request: Request) -> Response:
        query = ChangeRequestListQuery.parse(request)
        caller = caller_of(request)
        rows = ChangeRequest.objects.filter(visible(caller))
        names = ("state", "project", "domain", "resource_type")
        rows = rows.filter(**{name: query[name] for name in names if name in query})
        if query["mine"]:
            rows = rows.filter(authored_by(caller))
        if "assigned" in query:
            rows = rows.filter(assigned_to(caller))
        page = paginate(request, rows, order=("id",), query=query)
        shown = {row.id: content for row, content in zip(page.items, show_requests(page.items), strict=True)}
        return page_response(request, page, lambda row: shown[row.id])

    @extend_schema(
        operation_id="change_requests_create",
        summary="Open a change request",
        description=(
            "Stores the change with its plan: what differs in the override, which effective values change, "
            "and a digest of both. It is validated like a write, and changes nothing until it is published."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=ChangeRequestWrite,
        responses={201: ChangeRequestDetails},
        examples=[examples.REQUEST_WRITE, examples.REQUEST_CREATED],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(ChangeRequestWrite, request)
        scope = Scope(**body.get("scope", {}))
        caller_of(request).require(Action.OVERRIDE_WRITE, scope)
        way = _way(body)
        document = None if way is Way.DELETE else body[way.value]
        message = body["message"] or query["change_message"][:400]
        proposal = Proposal(
            RequestedChange(Address(body["resource_type"], scope), way, document),
            _people(request),
            message,
            body["ticket"],
        )
        row = open_request(proposal, actor=actor_of(request, message))
        return Response(show_request(row), status=201)


class RequestItem(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ}
    problems = {"GET": (errors.UnknownChangeRequest,)}

    @extend_schema(
        operation_id="change_requests_get",
        summary="Get one change request",
        description="With its plan, approvals and comments.",
        tags=_TAGS,
        responses=ChangeRequestDetails,
        examples=[examples.REQUEST],
    )
    def get(self, request: Request, change_request: UUID) -> Response:
        Query.parse(request)
        return Response(show_request(find_request(change_request, caller_of(request))))


class ApproveRequest(Endpoint):
    actions = {"POST": Action.OVERRIDE_APPROVE}
    problems = {"POST": (*_OF_STEPS, errors.PlanDrifted, errors.NotIndependent)}

    @extend_schema(
        operation_id="change_requests_approve",
        summary="Approve a change request",
        description=(
            "Approves the plan with this digest. Only people approve, and never their own change: neither "
            "with another token, nor what a token or service that they created has requested. If the "
            "override or the effective values have changed, `plan_drifted` asks to refresh the plan."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=ApprovalWrite,
        responses=ChangeRequestDetails,
        examples=[examples.APPROVAL_WRITE, examples.REQUEST_APPROVED],
    )
    @mutation
    def post(self, request: Request, change_request: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        row = _required(request, change_request, Action.OVERRIDE_APPROVE)
        body = parse_body(ApprovalWrite, request)
        approved = approve_request(
            row.id,
            body["digest"],
            reviewer=_reviewer(request),
            actor=actor_of(request, query["change_message"]),
            comment=body["comment"],
        )
        return Response(show_request(approved))


class RejectRequest(Endpoint):
    actions = {"POST": Action.OVERRIDE_APPROVE}
    problems = {"POST": _OF_STEPS}

    @extend_schema(
        operation_id="change_requests_reject",
        summary="Reject a change request",
        description="For good, with a comment. The author can open a new one.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=RejectionWrite,
        responses=ChangeRequestDetails,
        examples=[examples.REJECTION_WRITE, examples.REQUEST_REJECTED],
    )
    @mutation
    def post(self, request: Request, change_request: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        row = _required(request, change_request, Action.OVERRIDE_APPROVE)
        comment = parse_body(RejectionWrite, request)["comment"]
        actor = actor_of(request, query["change_message"])
        return Response(show_request(reject_request(row.id, actor=actor, comment=comment)))


class WithdrawRequest(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {"POST": _OF_STEPS}

    @extend_schema(
        operation_id="change_requests_withdraw",
        summary="Withdraw a change request",
        description="Gives the change up. Its author may, and everybody who may change overrides there.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=ChangeRequestDetails,
        examples=[examples.REQUEST_WITHDRAWN],
    )
    @mutation
    def post(self, request: Request, change_request: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        row = _required(request, change_request, Action.OVERRIDE_WRITE)
        reason = query["change_message"]
        return Response(
            show_request(withdraw_request(row.id, actor=actor_of(request, reason), comment=reason))
        )


class RefreshRequest(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {"POST": (*_OF_STEPS, *_OF_WRITES)}

    @extend_schema(
        operation_id="change_requests_refresh",
        summary="Plan a change request again",
        description="Computes the plan for the current state. If it is another one, its approvals fall.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=ChangeRequestDetails,
        examples=[examples.REQUEST],
    )
    @mutation
    def post(self, request: Request, change_request: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        row = _required(request, change_request, Action.OVERRIDE_WRITE)
        actor = actor_of(request, query["change_message"])
        return Response(show_request(refresh_request(row.id, actor=actor)))


class PublishRequest(Endpoint):
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {
        "POST": (
            *_OF_STEPS,
            *_OF_WRITES,
            errors.ApprovalRequired,
            errors.PlanDrifted,
            errors.ChangeFrozen,
        )
    }

    @extend_schema(
        operation_id="change_requests_publish",
        summary="Publish an approved change request",
        description=(
            "Makes exactly the approved change, in one transaction, now or at a time (then by a scheduled "
            "change, which checks the plan and the approvals again). Its author must still be allowed to "
            "change the override."
        ),
        tags=_TAGS,
        parameters=[PublicationQuery],
        request=PublicationWrite,
        responses=ChangeRequestDetails,
        examples=[examples.PUBLICATION_WRITE, examples.REQUEST_PUBLISHED],
    )
    @mutation
    def post(self, request: Request, change_request: UUID) -> Response:
        query = PublicationQuery.parse(request)
        row = _required(request, change_request, Action.OVERRIDE_WRITE)
        at = parse_body(PublicationWrite, request).get("at")
        if at is not None and at <= statement_now():
            message = "at must be in the future. To publish it now, omit at."
            raise InvalidRequest(message, errors=[FieldError("/at", "in_the_past", message)])
        options = CommitOptions(
            freeze_override=freeze_override_from(request, query), heeds_freezes=not query["dry_run"]
        )
        actor = actor_of(request, query["change_message"])
        return Response(show_request(publish_request(row.id, actor=actor, options=options, at=at)))


class RequestComments(Endpoint):
    actions = {"POST": Action.OVERRIDE_READ}
    problems = {"POST": (errors.UnknownChangeRequest,)}

    @extend_schema(
        operation_id="change_requests_comment",
        summary="Comment on a change request",
        description="In every state, by everybody who can read the change request.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=CommentWrite,
        responses={201: ChangeRequestDetails},
        examples=[examples.COMMENT_WRITE, examples.REQUEST_CREATED],
    )
    @mutation
    def post(self, request: Request, change_request: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        row = find_request(change_request, caller_of(request))
        text = parse_body(CommentWrite, request)["text"]
        comment_on_request(row.id, text, actor=actor_of(request, query["change_message"]))
        return Response(show_request(row), status=201)


def _required(request: Request, change_request: UUID, action: Action) -> ChangeRequest:
    """Return a change request on which the caller may act. Raises UnknownChangeRequest, PermissionDenied."""
    row = find_request(change_request, caller_of(request))
    caller_of(request).require(action, row.scope)
    return row


def _people(request: Request) -> frozenset[UUID]:
    token = request.auth
    return people_behind(caller_of(request).principal_id, token.id if isinstance(token, Token) else None)


def _reviewer(request: Request) -> Reviewer:
    caller = caller_of(request)
    if caller.principal_id is None:
        raise NotIndependent("Only people approve: log in to approve it.")
    return Reviewer(caller.principal_id, caller.name, caller.kind == "person", _people(request))


def _way(body: dict[str, Any]) -> Way:
    """Return what the body wants. Raises InvalidRequest unless it is exactly one thing."""
    given = [way for way in Way if way in body and body[way] is not False]
    if len(given) != 1:
        message = "Send exactly one of attributes, patch and delete."
        raise InvalidRequest(message, errors=[FieldError("", "required", message)])
    return given[0]
