"""HTTP endpoints for operations: list, get with `Prefer: wait`, cancel."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query
from controlplane.api.pages import page_response
from controlplane.endpoints.events.watch_header import HEADER, hand_over
from controlplane.events.log import last_number
from controlplane.identity.roles import Action
from registry.api.operations import examples, schemas
from registry.api.operations.pages import operation_page
from registry.operations.decisions import MOST_SECONDS, preferred_wait
from registry.operations.long_poll import watch_operation
from registry.operations.search import cancel_operation, find_operation

_TAGS = ["operations"]
# Seconds after which to ask again.
_RETRY_AFTER = "2"
_PREFER = OpenApiParameter(
    "Prefer",
    str,
    OpenApiParameter.HEADER,
    required=False,
    description=(
        "`wait=10` delays the response for up to 10 seconds, until the operation is done; at most "
        f"{MOST_SECONDS}. `Preference-Applied` repeats what was applied."
    ),
)


class OperationCollection(Endpoint):
    # The operations of objects that the caller may read.
    actions = {"GET": Action.SELF_READ}

    @extend_schema(
        operation_id="operations_list",
        summary="List operations",
        description=(
            "What continues after its request was answered: bulk changes of agents, requests and deletions "
            "of resources, replays of sinks. Newest first. An operation is as visible as its object."
        ),
        tags=_TAGS,
        parameters=[schemas.OperationListQuery],
        responses=schemas.OperationPage,
        examples=[examples.PAGE],
    )
    def get(self, request: Request) -> Response:
        query = schemas.OperationListQuery.parse(request)
        return page_response(request, operation_page(request, query), schemas.show_operation)


class OperationItem(Endpoint):
    actions = {"GET": Action.SELF_READ}
    problems = {"GET": (errors.UnknownOperation,)}

    @extend_schema(
        operation_id="operations_get",
        summary="Get one operation",
        description=(
            "With its state and progress. While it is not done, `Retry-After` says when to ask again, and "
            "`Prefer: wait=10` waits for its end. The end of a replay cannot be waited for."
        ),
        tags=_TAGS,
        parameters=[_PREFER],
        responses=schemas.OperationRead,
        examples=[examples.READ],
    )
    def get(self, request: Request, operation_id: str) -> Response:
        Query.parse(request)
        caller, seconds = caller_of(request), preferred_wait(request.headers.get("Prefer", ""))
        # Read before the operation: a change in between ends the wait at once.
        last_event = last_number() if seconds else 0
        source, operation = find_operation(operation_id, caller)
        response = Response(schemas.show_operation(operation))
        if not operation.is_done:
            response["Retry-After"] = _RETRY_AFTER
            if seconds and source.event_object:
                watch = watch_operation(
                    source.event_object, operation.key, caller, after=last_event, seconds=seconds
                )
                hand_over(watch, request.headers, response)
        if seconds and (operation.is_done or HEADER in response):
            response["Preference-Applied"] = f"wait={seconds}"
        return response


class OperationCancellation(Endpoint):
    # The right to change the object is checked with the object.
    actions = {"POST": Action.SELF_READ}
    problems = {"POST": (errors.UnknownOperation, errors.Conflict)}

    @extend_schema(
        operation_id="operations_cancel",
        summary="Cancel an operation",
        description=(
            "As the object's own endpoint does: agents that changed stay so, and a resource that does not "
            "run yet is not created. 409 `conflict` if it cannot be cancelled."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.OperationRead,
        examples=[examples.READ],
    )
    @mutation
    def post(self, request: Request, operation_id: str) -> Response:
        actor = actor_of(request, ReasonedQuery.parse(request)["change_message"])
        operation = cancel_operation(operation_id, caller_of(request), actor=actor)
        return Response(schemas.show_operation(operation))
