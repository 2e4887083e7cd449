"""HTTP endpoints for change requests."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api import change_request_examples as examples
from overrides.api.change_request_schemas import (
    ChangeRequestDetails,
    ChangeRequestListQuery,
    ChangeRequestPage,
    ChangeRequestWrite,
    CommentWrite,
    show_request,
    show_requests,
)
from overrides.api.change_request_steps import OF_WRITES, people_of
from overrides.approval_models import ChangeRequest
from overrides.change_requests.decisions import Way
from overrides.change_requests.planning import RequestedChange
from overrides.change_requests.requests import (
    Proposal,
    comment_on_request,
    open_request,
)
from overrides.change_requests.storage import assigned_to, authored_by, find_request, visible
from overrides.resolution.addresses import Address

_TAGS = ["change requests"]


class RequestCollection(Endpoint):
    actions = {"GET": Action.OVERRIDE_READ, "POST": Action.OVERRIDE_WRITE}
    problems = {"POST": OF_WRITES}

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
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
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
            people_of(request),
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


class RequestComments(Endpoint):
    # Reading is not enough: a token that may only read writes nothing.
    actions = {"POST": Action.OVERRIDE_WRITE}
    problems = {"POST": (errors.UnknownChangeRequest,)}

    @extend_schema(
        operation_id="change_requests_comment",
        summary="Comment on a change request",
        description="In every state, by everybody who can change overrides at its scope. An approval and a "
        "rejection have comments of their own.",
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
        caller_of(request).require(Action.OVERRIDE_WRITE, row.scope)
        text = parse_body(CommentWrite, request)["text"]
        comment_on_request(row.id, text, actor=actor_of(request, query["change_message"]))
        return Response(show_request(row), status=201)


def _way(body: dict[str, Any]) -> Way:
    """Return what the body wants. Raises InvalidRequest unless it is exactly one thing."""
    given = [way for way in Way if way in body and body[way] is not False]
    if len(given) != 1:
        message = "Send exactly one of attributes, patch and delete."
        raise InvalidRequest(message, errors=[FieldError("", "required", message)])
    return given[0]
