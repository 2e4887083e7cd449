"""HTTP endpoints for alerts, and for messages that others send."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import (
    OF_LISTS,
    Endpoint,
    MutationQuery,
    ReasonedQuery,
    actor_of,
    caller_of,
    mutation,
)
from controlplane.api.fields import Query, parse_body
from controlplane.api.pages import page_response, paginate
from controlplane.endpoints.notifications import alert_schemas as schemas
from controlplane.endpoints.notifications import examples
from controlplane.identity.roles import Action
from controlplane.notifications import alerts, sending
from controlplane.notifications.channel_changes import get_channel

_TAGS = ["notifications"]


class AlertCollection(Endpoint):
    actions = {"GET": Action.NOTIFICATION_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="alerts_list",
        summary="List alerts",
        description="Newest first. `state=firing` is what somebody has to look at.",
        tags=_TAGS,
        parameters=[schemas.AlertQuery],
        responses=schemas.AlertPage,
        examples=[examples.ALERTS],
    )
    def get(self, request: Request) -> Response:
        query = schemas.AlertQuery.parse(request)
        rows = alerts.visible_alerts(caller_of(request))
        for name in ("state", "severity", "rule"):
            if name in query:
                rows = rows.filter(**{name: query[name]})
        page = paginate(request, rows.filter(query["q"]), order=query["sort"], query=query)
        return page_response(request, page, schemas.show_alert)


class AlertItem(Endpoint):
    actions = {"GET": Action.NOTIFICATION_READ}
    problems = {"GET": (errors.UnknownAlert,)}

    @extend_schema(
        operation_id="alerts_get",
        summary="Get one alert",
        description="With its text.",
        tags=_TAGS,
        responses=schemas.AlertRead,
        examples=[examples.ALERT],
    )
    def get(self, request: Request, alert_id: UUID) -> Response:
        Query.parse(request)
        return Response(schemas.show_alert(alerts.get_alert(caller_of(request), alert_id)))


class AlertAcknowledgement(Endpoint):
    actions = {"POST": Action.NOTIFICATION_WRITE}
    problems = {"POST": (errors.UnknownAlert, errors.Conflict)}

    @extend_schema(
        operation_id="alerts_acknowledge",
        summary="Acknowledge an alert",
        description="Stops its escalation. Slack and PagerDuty show who looks after it.",
        tags=_TAGS,
        parameters=[ReasonedQuery],
        request=None,
        responses=schemas.AlertRead,
        examples=[examples.ACKNOWLEDGED],
    )
    @mutation
    def post(self, request: Request, alert_id: UUID) -> Response:
        query = ReasonedQuery.parse(request)
        alert = alerts.get_alert(caller_of(request), alert_id, Action.NOTIFICATION_WRITE)
        actor = actor_of(request, query["change_message"])
        return Response(schemas.show_alert(alerts.acknowledge_alert(alert, actor=actor)))


class Notes(Endpoint):
    actions = {"POST": Action.NOTIFICATION_SEND}
    problems = {"POST": (errors.UnknownNotificationChannel, errors.TooManyAttempts)}

    @extend_schema(
        operation_id="notifications_send",
        summary="Send a message through a channel",
        description="For tasks and pipelines, such as flytekit's `WebhookTask`. The number of messages"
        " per hour is limited.",
        tags=_TAGS,
        parameters=[MutationQuery],
        request=schemas.NoteWrite,
        responses={202: schemas.NoteRead},
        examples=[examples.NOTE_WRITE, examples.NOTE],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        body = parse_body(schemas.NoteWrite, request)
        channel = get_channel(caller_of(request), body["channel"], Action.NOTIFICATION_SEND)
        key = sending.send_note(channel, schemas.note_of(body), actor=actor_of(request))
        return Response({"key": key}, status=202)
