"""HTTP endpoints for dead letters: list, read, replay, discard."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import OF_LISTS, Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query
from controlplane.api.pages import page_response, paginate
from controlplane.errors import Conflict, UnknownDeadLetter
from controlplane.identity.roles import Action
from registry.api.dispatch import dead_letter_schemas as schemas
from registry.dispatch.inbound.dead_letters import discard, get_letter, replay, visible_letters

_WHEN = "2026-11-21T09:30:00Z"
_LETTER = {
    "id": "019a9f5e-7c00-7000-8000-000000000051",
    "stream": "dcm-agent-responses",
    "consumer": "control-plane-response-consumer",
    "sequence": 4711,
    "subject": "dcm.agents.responses",
    "reason": "There is no resource 'web-1'.",
    "deliveries": 1,
    "resource_id": "web-1",
    "team": None,
    "at": _WHEN,
    "state": "open",
    "settled_at": None,
}
_DETAIL = {
    **_LETTER,
    "headers": {"Nats-Msg-Id": "e1"},
    "payload": '{"specversion":"1.0","id":"e1","type":"dcm.agent.creation-acknowledged"}',
    "payload_encoding": "text",
}
_SETTLED = {"settled_at": "2026-11-21T09:40:00Z"}


class DeadLetterCollection(Endpoint):
    actions = {"GET": Action.RESOURCE_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="dead_letters_list",
        summary="List dead letters, newest first",
        description=(
            "Messages of agents and providers that could not be handled, and requests that an agent never "
            "acknowledged. A message about a team's resource is visible to that team's readers, any other "
            "to readers of all resources."
        ),
        tags=["resources"],
        parameters=[schemas.DeadLetterListQuery],
        responses=schemas.DeadLetterPage,
        examples=[
            OpenApiExample("A page", value={"items": [_LETTER], "next_cursor": None}, response_only=True)
        ],
    )
    def get(self, request: Request) -> Response:
        query = schemas.DeadLetterListQuery.parse(request)
        rows = visible_letters(caller_of(request)).defer("payload")
        if "state" in query:
            rows = rows.filter(state=query["state"])
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        slugs = schemas.slugs_of(page.items)
        return page_response(request, page, lambda letter: schemas.show_letter(letter, slugs))


class DeadLetterItem(Endpoint):
    actions = {"GET": Action.RESOURCE_READ}

    @extend_schema(
        operation_id="dead_letters_get",
        summary="Get one dead letter with its payload",
        description="The payload is the message exactly as it was received or sent.",
        tags=["resources"],
        responses=schemas.DeadLetterDetail,
        examples=[OpenApiExample("A dead letter", value=_DETAIL, response_only=True)],
    )
    def get(self, request: Request, letter_id: UUID) -> Response:
        Query.parse(request)
        return Response(schemas.show_detail(get_letter(caller_of(request), letter_id)))


class DeadLetterReplay(Endpoint):
    actions = {"POST": Action.DISPATCH_OPERATE}
    problems = {"POST": (UnknownDeadLetter, Conflict)}

    @extend_schema(
        operation_id="dead_letters_replay",
        summary="Replay a dead letter",
        description=(
            "A message from an agent or a provider is handled now. A request is sent to its agent again. "
            "409 if that would fail again, or has no effect any more: `detail` has the reason."
        ),
        tags=["resources"],
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.DeadLetterDetail,
        examples=[
            OpenApiExample(
                "A replayed dead letter",
                value={**_DETAIL, **_SETTLED, "state": "replayed"},
                response_only=True,
            )
        ],
    )
    @mutation
    def post(self, request: Request, letter_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        return Response(schemas.show_detail(replay(letter_id, caller=caller_of(request), actor=actor)))


class DeadLetterDiscard(Endpoint):
    actions = {"POST": Action.DISPATCH_OPERATE}
    problems = {"POST": (UnknownDeadLetter, Conflict)}

    @extend_schema(
        operation_id="dead_letters_discard",
        summary="Discard a dead letter",
        description="Closes it without any effect. It stays readable.",
        tags=["resources"],
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.DeadLetterDetail,
        examples=[
            OpenApiExample(
                "A discarded dead letter",
                value={**_DETAIL, **_SETTLED, "state": "discarded"},
                response_only=True,
            )
        ],
    )
    @mutation
    def post(self, request: Request, letter_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        return Response(schemas.show_detail(discard(letter_id, caller=caller_of(request), actor=actor)))
