"""HTTP endpoints for sinks."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.access.teams.owning_team import choose_team
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.etags import parse_precondition, respond, version_etag
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.delivery import sinks
from controlplane.delivery.models import Sink
from controlplane.endpoints.sinks import examples, schemas
from controlplane.identity.roles import Action

_TAGS = ["sinks"]
_PREVIEWED = 50


def _get(request: Request, sink_id: UUID, action: Action = Action.SINK_WRITE) -> Sink:
    return sinks.get_sink(caller_of(request), sink_id, action)


class SinkCollection(Endpoint):
    actions = {"GET": Action.SINK_READ, "POST": Action.SINK_WRITE}
    problems = {
        "POST": (
            errors.UnknownTeam,
            errors.NameTaken,
            errors.LimitReached,
            errors.QuotaExceeded,
            errors.SecretsUnavailable,
        )
    }

    @extend_schema(
        operation_id="sinks_list",
        summary="List sinks",
        description="Receivers of events, with their health, newest first.",
        tags=_TAGS,
        parameters=[schemas.SinkListQuery],
        responses=schemas.SinkPage,
        examples=[examples.SINKS],
    )
    def get(self, request: Request) -> Response:
        query = schemas.SinkListQuery.parse(request)
        rows = sinks.visible_sinks(caller_of(request))
        if "state" in query:
            rows = rows.filter(state=query["state"])
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_sink)

    @extend_schema(
        operation_id="sinks_create",
        summary="Create a sink",
        description=(
            "Events that pass the filter and that you may read are sent to the URL as CloudEvents, signed by"
            " Standard Webhooks. The response has the secret that verifies them; it is shown only once. Your"
            " permissions are checked again at each delivery."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.SinkCreate,
        responses={201: schemas.SinkCreated},
        examples=[examples.WRITE, examples.CREATED],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(schemas.SinkCreate, request)
        sink, secret = sinks.create_sink(
            schemas.terms_of(body),
            team=choose_team(caller_of(request).owners_for(Action.SINK_WRITE), body.get("team")),
            actor=actor_of(request, query["change_message"]),
            after_seq=body.get("after"),
            secret=body.get("secret", ""),
        )
        content = schemas.show_sink(sink)
        headers = {"ETag": version_etag(sink.version), "Location": f"/api/v1/sinks/{sink.id}"}
        response = Response({**content, "secret": secret}, status=201, headers=headers)
        response.replayed_body = {**content, "secret": ""}  # type: ignore[attr-defined]  # read by `mutation`
        return response


class SinkItem(Endpoint):
    actions = {"GET": Action.SINK_READ, "PUT": Action.SINK_WRITE, "DELETE": Action.SINK_WRITE}
    problems = {"PUT": (errors.UnknownSink, errors.NameTaken), "DELETE": (errors.UnknownSink,)}
    has_versions = True

    @extend_schema(
        operation_id="sinks_get",
        summary="Get one sink",
        description="Returns an ETag; send it as `If-Match` to change or delete the sink.",
        tags=_TAGS,
        responses=schemas.SinkRead,
        examples=[examples.SINK],
    )
    def get(self, request: Request, sink_id: UUID) -> Response:
        Query.parse(request)
        sink = _get(request, sink_id, Action.SINK_READ)
        return respond(request, schemas.show_sink(sink), etag=version_etag(sink.version))

    @extend_schema(
        operation_id="sinks_put",
        summary="Replace a sink",
        description="Events that are queued already are sent to the new URL. Secrets stay.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.SinkWrite,
        responses=schemas.SinkRead,
        examples=[examples.WRITE, examples.SINK],
    )
    @mutation
    def put(self, request: Request, sink_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        sink = sinks.change_sink(
            _get(request, sink_id),
            schemas.terms_of(parse_body(schemas.SinkWrite, request)),
            precondition=parse_precondition(request),
            actor=actor_of(request, query["change_message"]),
        )
        return Response(schemas.show_sink(sink), headers={"ETag": version_etag(sink.version)})

    @extend_schema(
        operation_id="sinks_delete",
        summary="Delete a sink",
        description="Its deliveries are deleted too. To stop it for a while, pause it.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, sink_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        sinks.delete_sink(_get(request, sink_id), precondition=parse_precondition(request), actor=actor)
        return Response(status=204)
