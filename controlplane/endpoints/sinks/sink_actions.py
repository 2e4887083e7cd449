"""HTTP endpoints that do something with a sink: pause, resume, test, replay, secrets, preview."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, ReasonedQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Query, parse_body
from controlplane.api.time_range import newer_than
from controlplane.delivery import sinks
from controlplane.delivery.deliveries import preview, send_test
from controlplane.delivery.filters import filter_from
from controlplane.delivery.models import Sink
from controlplane.delivery.replays import number_before, start_replay
from controlplane.endpoints.sinks import examples, schemas
from controlplane.identity.roles import Action

_TAGS = ["sinks"]
_PREVIEWED = 50


def _get(request: Request, sink_id: UUID) -> Sink:
    return sinks.get_sink(caller_of(request), sink_id, Action.SINK_WRITE)


class SinkPause(Endpoint):
    actions = {"POST": Action.SINK_WRITE}
    problems = {"POST": (errors.UnknownSink,)}

    @extend_schema(
        operation_id="sinks_pause",
        summary="Pause a sink",
        description="It gets no events until it is resumed. It then gets those that it has missed.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.SinkRead,
        examples=[examples.PAUSED],
    )
    @mutation
    def post(self, request: Request, sink_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        return Response(schemas.show_sink(sinks.pause_sink(_get(request, sink_id), actor=actor)))


class SinkResume(Endpoint):
    actions = {"POST": Action.SINK_WRITE}
    problems = {"POST": (errors.UnknownSink,)}

    @extend_schema(
        operation_id="sinks_resume",
        summary="Resume a sink",
        description="Also one that was disabled. It gets the events that it has missed, in order.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.SinkRead,
        examples=[examples.SINK],
    )
    @mutation
    def post(self, request: Request, sink_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        return Response(schemas.show_sink(sinks.resume_sink(_get(request, sink_id), actor=actor)))


class SinkSecretRotation(Endpoint):
    actions = {"POST": Action.SINK_WRITE}
    problems = {"POST": (errors.UnknownSink, errors.SecretsUnavailable)}

    @extend_schema(
        operation_id="sinks_rotate_secret",
        summary="Sign with a new secret",
        description="The old secrets sign too, until the overlap ends. Give the new one to the receiver."
        " A repetition with the same `Idempotency-Key` has no secret.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.SecretRotation,
        responses=schemas.SecretRead,
        examples=[examples.ROTATE, examples.SECRET],
    )
    @mutation
    def post(self, request: Request, sink_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        overlap = timedelta(hours=parse_body(schemas.SecretRotation, request)["overlap_hours"])
        actor = actor_of(request, query["change_message"])
        secret = sinks.rotate_secret(_get(request, sink_id), overlap=overlap, actor=actor)
        response = Response({"secret": secret})
        response.replayed_body = {"secret": ""}  # type: ignore[attr-defined]  # read by `mutation`
        return response


class SinkOldSecrets(Endpoint):
    actions = {"POST": Action.SINK_WRITE}
    problems = {"POST": (errors.UnknownSink, errors.SecretsUnavailable)}

    @extend_schema(
        operation_id="sinks_revoke_old",
        summary="Sign with the newest secret alone",
        description="Ends the overlap of a rotation at once.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses={204: None},
    )
    @mutation
    def post(self, request: Request, sink_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        sinks.revoke_old_secrets(_get(request, sink_id), actor=actor)
        return Response(status=204)


class SinkReplay(Endpoint):
    actions = {"POST": Action.SINK_WRITE}
    problems = {"POST": (errors.UnknownSink, errors.EventsGone)}

    @extend_schema(
        operation_id="sinks_replay",
        summary="Send events once more",
        description=(
            "Events of the past that pass the filter are sent again with their old ids and the header"
            " `webhook-replay: true`, in order, after live events. At most 100,000."
        ),
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.ReplayWrite,
        responses={202: schemas.ReplayRead},
        examples=[examples.REPLAY, examples.REPLAYED],
    )
    @mutation
    def post(self, request: Request, sink_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(schemas.ReplayWrite, request)
        replay = start_replay(
            _get(request, sink_id),
            after=number_before(newer_than(body["since"])) if "since" in body else body["after_seq"],
            until=body.get("until_seq"),
            types=body.get("types", []),
            actor=actor_of(request, query["change_message"]),
        )
        content = {
            "id": replay.id,
            "after_seq": replay.cursor_seq,
            "until_seq": replay.until_seq,
            "created_at": replay.created_at,
        }
        headers = {"Operation-Location": f"/api/v1/operations/sink_replay.{replay.id}"}
        return Response(content, status=202, headers=headers)


class SinkTest(Endpoint):
    actions = {"POST": Action.SINK_WRITE}
    problems = {"POST": (errors.UnknownSink, errors.SecretsUnavailable)}
    takes_keys = False
    repeats_are_safe = False

    @extend_schema(
        operation_id="sinks_test",
        summary="Send a test event now",
        description="Returns what the receiver answered, without its body. Nothing is stored or tried again.",
        tags=_TAGS,
        request=None,
        responses=schemas.SinkTestRead,
        examples=[examples.TEST],
    )
    def post(self, request: Request, sink_id: UUID) -> Response:
        Query.parse(request)
        return Response(schemas.show_test(send_test(_get(request, sink_id))))


class SinkPreview(Endpoint):
    actions = {"POST": Action.SINK_READ}
    takes_keys = False

    @extend_schema(
        operation_id="sinks_preview",
        summary="Preview a filter",
        description="Shows which of the last 1,000 events that you may read would go to a sink.",
        tags=_TAGS,
        request=schemas.FilterPreviewWrite,
        responses=schemas.FilterPreviewRead,
        examples=[examples.PREVIEW_WRITE, examples.PREVIEW],
    )
    def post(self, request: Request) -> Response:
        Query.parse(request)
        sink_filter = filter_from(parse_body(schemas.FilterPreviewWrite, request)["filter"])
        sink_filter.check()
        passing = preview(caller_of(request), sink_filter)
        events = [schemas.show_previewed(event) for event in passing.matching[:_PREVIEWED]]
        return Response({"looked_at": passing.looked_at, "matching": len(passing.matching), "events": events})
