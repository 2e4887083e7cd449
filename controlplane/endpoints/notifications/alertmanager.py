"""HTTP endpoint for Alertmanager, which reports alerts to a receiver of the kind webhook."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.teams.owning_team import choose_team
from controlplane.api.endpoints import Endpoint, MutationQuery, actor_of, caller_of, mutation
from controlplane.api.fields import Text
from controlplane.endpoints.notifications import examples
from controlplane.endpoints.notifications.alert_schemas import NOTE_STATES
from controlplane.identity.roles import Action
from controlplane.notifications.alertmanager import report_alerts
from controlplane.notifications.alertmanager_alerts import ReportedAlert

_VERSION = "4"
VERSIONS = [(_VERSION, _VERSION)]
_MOST_ALERTS = 1_000


class _AnyText(serializers.CharField):
    """Any string. An alert is not lost because of a character in a label: it is replaced later."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_blank=True, trim_whitespace=False, **options)
        self.validators = []

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class AlertmanagerAlert(serializers.Serializer[Any]):
    status = serializers.ChoiceField(NOTE_STATES)
    labels = serializers.DictField(child=_AnyText())
    annotations = serializers.DictField(child=_AnyText(), required=False, default=dict)
    startsAt = Text(required=False, default="", allow_blank=True, max_length=64)
    endsAt = Text(required=False, default="", allow_blank=True, max_length=64)
    generatorURL = _AnyText(required=False, default="")
    fingerprint = Text(max_length=64)


class AlertmanagerWebhook(serializers.Serializer[Any]):
    # As Alertmanager sends it. Other fields are ignored, since later releases may add some.
    version = serializers.ChoiceField(
        VERSIONS,
        required=False,
        default=_VERSION,
        help_text="Of the format.",
        error_messages={"invalid_choice": "Only version 4 of Alertmanager's webhook can be read."},
    )
    alerts = serializers.ListField(
        child=AlertmanagerAlert(),
        max_length=_MOST_ALERTS,
        help_text="Set `max_alerts` of the receiver to 1000 or less, so that no larger group is refused.",
    )


class AlertmanagerAccepted(serializers.Serializer[Any]):
    accepted = serializers.IntegerField(help_text="How many alerts were read.")
    news = serializers.IntegerField(help_text="How many of them became events: those that began or ended.")


class Alertmanager(Endpoint):
    actions = {"POST": Action.ALERT_REPORT}

    @extend_schema(
        operation_id="alertmanager_report",
        summary="Receive alerts of Alertmanager",
        description="A receiver for Alertmanager's `webhook_configs`. An alert that begins or ends becomes an"
        " event, `alertmanager.firing` or `alertmanager.resolved`, of the token's team, which rules match by"
        " its labels. Repetitions change nothing. Labels and annotations are cut to 50 of each, with 1,000"
        " characters.",
        tags=["notifications"],
        parameters=[MutationQuery],
        request=AlertmanagerWebhook,
        responses={202: AlertmanagerAccepted},
        examples=[examples.ALERTMANAGER, examples.ALERTMANAGER_ACCEPTED],
    )
    @mutation
    def post(self, request: Request) -> Response:
        MutationQuery.parse(request)
        parsed = AlertmanagerWebhook(data=request.data)
        parsed.is_valid(raise_exception=True)
        team = choose_team(caller_of(request).owners_for(Action.ALERT_REPORT), None)
        reported = [_reported(alert) for alert in parsed.validated_data["alerts"]]
        fresh = report_alerts(reported, team_id=team.id if team else None, actor=actor_of(request))
        return Response({"accepted": len(reported), "news": fresh}, status=202)


def _reported(alert: dict[str, Any]) -> ReportedAlert:
    return ReportedAlert(
        fingerprint=alert["fingerprint"],
        is_firing=alert["status"] == "firing",
        labels=alert["labels"],
        annotations=alert["annotations"],
        starts_at=alert["startsAt"],
        ends_at=alert["endsAt"],
        url=alert["generatorURL"],
    )
