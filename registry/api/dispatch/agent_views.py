"""HTTP endpoints with which agents fetch their requests and send their answers."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, MutationQuery, caller_of, mutation
from controlplane.endpoints.events.watch_header import hand_over
from controlplane.errors import FieldError, InvalidRequest
from controlplane.events.log import last_number
from controlplane.identity.roles import Action
from controlplane.messaging.envelope import Envelope
from controlplane.observability.trace_context import valid_traceparent
from registry.agents.lookup import get_own_agent
from registry.api.dispatch import agent_schemas as schemas
from registry.dispatch.delivery.fetching import LEASE_SECONDS, fetch_requests, receive_answer, watch_requests
from registry.dispatch.lifecycle.answers import AnswerType

_STATUS = "dcm.status."
_TYPES = frozenset(one.value for one in AnswerType if one is not AnswerType.STATUS)


class AgentRequests(Endpoint):
    actions = {"GET": Action.AGENT_HEARTBEAT}
    problems = {"GET": (errors.UnknownAgent,)}
    unlimited_methods = frozenset({"GET"})

    @extend_schema(
        operation_id="agents_requests",
        summary="Fetch the requests of an agent",
        description=(
            "For agents that do not use NATS, with the agent’s own token. Cancellations come first, then the "
            "oldest request. A request that you fetch is leased to you: send the answer within "
            "`lease_seconds`, or it is handed out again. The next request for the same resource comes after "
            "the answer, or once the former one is no longer wanted; a cancellation never waits. The first "
            "call moves requests that were sent to the agent by NATS. With `wait`, the response is delayed "
            "until there is a request."
        ),
        tags=["agents"],
        parameters=[schemas.FetchQuery],
        responses=schemas.FetchedRequestsRead,
        examples=schemas.FETCHED,
    )
    def get(self, request: Request, agent_id: UUID) -> Response:
        query, caller = schemas.FetchQuery.parse(request), caller_of(request)
        # Read before the requests: one that is stored in between ends the wait at once.
        last_event = last_number() if query["wait"] else 0
        agent = get_own_agent(caller, agent_id)
        fetched = fetch_requests(agent, limit=query["max"], restarted=query["restarted"])
        items = [{"message_id": str(one.message_id), "event": one.event} for one in fetched]
        response = Response({"items": items, "lease_seconds": LEASE_SECONDS})
        if query["wait"] and not items:
            watch = watch_requests(agent, caller, after=last_event, seconds=query["wait"])
            hand_over(watch, request.headers, response)
        return response


class AgentAnswers(Endpoint):
    actions = {"POST": Action.AGENT_HEARTBEAT}
    problems = {"POST": (errors.UnknownAgent, errors.UnknownResource)}
    unlimited_methods = frozenset({"POST"})
    # An event has its effect once anyway.
    takes_keys = False

    @extend_schema(
        operation_id="agents_answer",
        summary="Send an answer or a status of an agent",
        description=(
            "The body is one CloudEvent, as it would be sent by NATS: an answer to a request, or a status "
            "`dcm.status.{service_type}` of a provider. The response comes once the effect is stored. Send "
            "it again with the same `id` if the response is lost. On 404 `unknown_resource` the agent has no "
            "request for that resource: do not send the event again."
        ),
        tags=["agents"],
        parameters=[MutationQuery],
        request=schemas.AnswerWrite,
        responses={202: schemas.AnswerRead},
        examples=schemas.ANSWERED,
    )
    @mutation
    def post(self, request: Request, agent_id: UUID) -> Response:
        MutationQuery.parse(request)
        agent = get_own_agent(caller_of(request), agent_id)
        is_new = receive_answer(agent, _envelope(request))
        return Response({"applied": is_new}, status=HTTPStatus.ACCEPTED)


def _envelope(request: Request) -> Envelope:
    body = schemas.AnswerWrite(data=request.data)
    body.is_valid(raise_exception=True)
    event = body.validated_data
    if event["type"] not in _TYPES and not event["type"].startswith(_STATUS):
        allowed = ", ".join(sorted(_TYPES))
        message = f"{event['type'][:80]!r} is not the type of an answer. Use {allowed} or {_STATUS}…"
        raise InvalidRequest(message, errors=[FieldError("/type", "invalid_choice", message)])
    # A trace that nobody can read is no reason to refuse an answer.
    traceparent = valid_traceparent(event.get("traceparent"))
    return Envelope(event["id"], event["source"], event["type"], event["data"], traceparent=traceparent)
