"""HTTP endpoints for the steps of change requests: review, refresh, withdraw and publish."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.models import Token
from controlplane.access.people import people_behind
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import parse_body
from controlplane.database.clock import statement_now
from controlplane.errors import FieldError, InvalidRequest, NotIndependent
from controlplane.identity.roles import Action
from overrides.api import change_request_examples as examples
from overrides.api.change_request_schemas import (
    ApprovalWrite,
    ChangeRequestDetails,
    PublicationWrite,
    RejectionWrite,
    show_request,
)
from overrides.api.schemas import PublicationQuery
from overrides.api.write_options import freeze_override_from
from overrides.approval_models import ChangeRequest
from overrides.change_requests.decisions import Reviewer
from overrides.change_requests.publishing import publish_request
from overrides.change_requests.requests import refresh_request, withdraw_request
from overrides.change_requests.review import approve_request, reject_request
from overrides.change_requests.storage import find_request
from overrides.editing.commit import CommitOptions

_TAGS = ["change requests"]
OF_WRITES = (
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
        description="Gives the change up. Everybody who may change overrides there can do so.",
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
    problems = {"POST": (*_OF_STEPS, *OF_WRITES)}

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
            *OF_WRITES,
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


def _required(request: Request, change_request: UUID, action: Action) -> ChangeRequest:
    """Return a change request on which the caller may act. Raises UnknownChangeRequest, PermissionDenied."""
    row = find_request(change_request, caller_of(request))
    caller_of(request).require(action, row.scope)
    return row


def people_of(request: Request) -> frozenset[UUID]:
    token = request.auth
    return people_behind(caller_of(request).principal_id, token.id if isinstance(token, Token) else None)


def _reviewer(request: Request) -> Reviewer:
    caller = caller_of(request)
    if caller.principal_id is None:
        raise NotIndependent("Only people approve: log in to approve it.")
    return Reviewer(caller.principal_id, caller.name, caller.kind == "person", people_of(request))
