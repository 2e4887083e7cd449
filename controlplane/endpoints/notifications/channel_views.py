"""HTTP endpoints for notification channels."""

from __future__ import annotations

from datetime import timedelta
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
from controlplane.endpoints.notifications import channel_schemas as schemas
from controlplane.endpoints.notifications import examples
from controlplane.endpoints.sinks.examples import ROTATE, SECRET
from controlplane.endpoints.sinks.schemas import SecretRead, SecretRotation
from controlplane.identity.roles import Action
from controlplane.notifications import channel_changes
from controlplane.notifications.channels import stored_kind

_TAGS = ["notifications"]


def _get(request: Request, channel_id: UUID, action: Action = Action.NOTIFICATION_WRITE) -> Sink:
    return channel_changes.get_channel(caller_of(request), channel_id, action)


class ChannelCollection(Endpoint):
    actions = {"GET": Action.NOTIFICATION_READ, "POST": Action.NOTIFICATION_WRITE}
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
        operation_id="notification_channels_list",
        summary="List notification channels",
        description="With their health, newest first.",
        tags=_TAGS,
        parameters=[schemas.NotificationChannelQuery],
        responses=schemas.NotificationChannelPage,
        examples=[examples.CHANNELS],
    )
    def get(self, request: Request) -> Response:
        query = schemas.NotificationChannelQuery.parse(request)
        rows = channel_changes.visible_channels(caller_of(request))
        if "kind" in query:
            rows = rows.filter(kind=stored_kind(query["kind"]))
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_channel)

    @extend_schema(
        operation_id="notification_channels_create",
        summary="Create a notification channel",
        description="E-mail, Slack, PagerDuty, a webhook, or with the kind `other` one of further services,"
        " such as Microsoft Teams and ntfy. The response has the secret that verifies a webhook's signatures;"
        " it is shown only once.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.NotificationChannelCreate,
        responses={201: schemas.NotificationChannelCreated},
        examples=[examples.CHANNEL_WRITE, examples.CHANNEL_CREATED],
    )
    @mutation
    def post(self, request: Request) -> Response:
        query = ReasonedQuery.parse(request)
        body = parse_body(schemas.NotificationChannelCreate, request)
        channel, secret = channel_changes.create_channel(
            schemas.terms_of(body),
            team=choose_team(caller_of(request).owners_for(Action.NOTIFICATION_WRITE), body.get("team")),
            actor=actor_of(request, query["change_message"]),
        )
        content = schemas.show_channel(channel)
        headers = {
            "ETag": version_etag(channel.version),
            "Location": f"/api/v1/notification-channels/{channel.id}",
        }
        response = Response({**content, "secret": secret}, status=201, headers=headers)
        response.replayed_body = {**content, "secret": ""}  # type: ignore[attr-defined]  # read by `mutation`
        return response


class ChannelItem(Endpoint):
    actions = {
        "GET": Action.NOTIFICATION_READ,
        "PUT": Action.NOTIFICATION_WRITE,
        "DELETE": Action.NOTIFICATION_WRITE,
    }
    problems = {
        "PUT": (errors.UnknownNotificationChannel, errors.NameTaken, errors.SecretsUnavailable),
        "DELETE": (errors.UnknownNotificationChannel, errors.StillInUse),
    }
    has_versions = True

    @extend_schema(
        operation_id="notification_channels_get",
        summary="Get one notification channel",
        description="Returns an ETag; send it as `If-Match` to change or delete the channel.",
        tags=_TAGS,
        responses=schemas.NotificationChannelRead,
        examples=[examples.CHANNEL],
    )
    def get(self, request: Request, channel_id: UUID) -> Response:
        Query.parse(request)
        channel = _get(request, channel_id, Action.NOTIFICATION_READ)
        return respond(request, schemas.show_channel(channel), etag=version_etag(channel.version))

    @extend_schema(
        operation_id="notification_channels_put",
        summary="Replace a notification channel",
        description="Messages that are queued already go to the new receivers. Credentials stay if omitted.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=schemas.NotificationChannelWrite,
        responses=schemas.NotificationChannelRead,
        examples=[examples.CHANNEL_WRITE, examples.CHANNEL],
    )
    @mutation
    def put(self, request: Request, channel_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        channel = channel_changes.change_channel(
            _get(request, channel_id),
            schemas.terms_of(parse_body(schemas.NotificationChannelWrite, request)),
            precondition=parse_precondition(request),
            actor=actor_of(request, query["change_message"]),
        )
        return Response(schemas.show_channel(channel), headers={"ETag": version_etag(channel.version)})

    @extend_schema(
        operation_id="notification_channels_delete",
        summary="Delete a notification channel",
        description="Refused while rules send to it.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        responses={204: None},
    )
    @mutation
    def delete(self, request: Request, channel_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        channel_changes.delete_channel(
            _get(request, channel_id),
            precondition=parse_precondition(request),
            actor=actor_of(request, query["change_message"]),
        )
        return Response(status=204)


class ChannelResume(Endpoint):
    actions = {"POST": Action.NOTIFICATION_WRITE}
    problems = {"POST": (errors.UnknownNotificationChannel,)}

    @extend_schema(
        operation_id="notification_channels_resume",
        summary="Resume a notification channel",
        description="One that was switched off because it failed. Messages that wait are sent.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.NotificationChannelRead,
        examples=[examples.CHANNEL],
    )
    @mutation
    def post(self, request: Request, channel_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        actor = actor_of(request, query["change_message"])
        channel = channel_changes.resume_channel(_get(request, channel_id), actor=actor)
        return Response(schemas.show_channel(channel))


class ChannelSecretRotation(Endpoint):
    actions = {"POST": Action.NOTIFICATION_WRITE}
    problems = {"POST": (errors.UnknownNotificationChannel, errors.SecretsUnavailable)}

    @extend_schema(
        operation_id="notification_channels_rotate_secret",
        summary="Sign with a new secret",
        description="Of a channel of kind webhook. The old secrets sign too, until the overlap ends."
        " A repetition with the same `Idempotency-Key` has no secret.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=SecretRotation,
        responses=SecretRead,
        examples=[ROTATE, SECRET],
    )
    @mutation
    def post(self, request: Request, channel_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        overlap = timedelta(hours=parse_body(SecretRotation, request)["overlap_hours"])
        actor = actor_of(request, query["change_message"])
        secret = sinks.rotate_secret(_get(request, channel_id), overlap=overlap, actor=actor)
        response = Response({"secret": secret})
        response.replayed_body = {"secret": ""}  # type: ignore[attr-defined]  # read by `mutation`
        return response


class ChannelTest(Endpoint):
    actions = {"POST": Action.NOTIFICATION_WRITE}
    problems = {"POST": (errors.UnknownNotificationChannel, errors.SecretsUnavailable)}
    takes_keys = False
    repeats_are_safe = False

    @extend_schema(
        operation_id="notification_channels_test",
        summary="Send a test message now",
        description="Returns what each receiver answered. Nothing is stored or tried again.",
        tags=_TAGS,
        request=None,
        responses=schemas.ChannelTestRead,
        examples=[examples.CHANNEL_TEST],
    )
    def post(self, request: Request, channel_id: UUID) -> Response:
        Query.parse(request)
        results = channel_changes.test_channel(_get(request, channel_id))
        return Response({"results": [schemas.show_test(recipient, sent) for recipient, sent in results]})
