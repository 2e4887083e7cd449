"""API schemas of alerts, and of messages that others send."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.notifications.models import ALERT_STATES, SEVERITIES, Alert
from controlplane.notifications.sending import Note

NOTE_STATES = [("firing", "firing"), ("resolved", "resolved")]


class AlertRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    rule_id = serializers.UUIDField()
    rule = serializers.CharField()
    team = serializers.CharField(allow_null=True, help_text="Null for the platform.")
    state = serializers.ChoiceField(
        ALERT_STATES, help_text="`suppressed`: it ended before a message was sent."
    )
    severity = serializers.ChoiceField(SEVERITIES)
    title = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    event_type = serializers.CharField()
    event_seq = serializers.IntegerField(help_text="Number of its first event.")
    object_type = serializers.CharField()
    object_id = serializers.CharField()
    count = serializers.IntegerField(help_text="How many events it has.")
    is_sent = serializers.BooleanField(help_text="Whether a message was sent.")
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    acknowledged_by = serializers.CharField(allow_blank=True)
    acknowledged_at = serializers.DateTimeField(allow_null=True)
    resolved_at = serializers.DateTimeField(allow_null=True)


class AlertPage(serializers.Serializer[Any]):
    items = AlertRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class AlertQuery(PageQuery):
    state = serializers.ChoiceField(ALERT_STATES, required=False, help_text="All states if omitted.")
    severity = serializers.ChoiceField(SEVERITIES, required=False, help_text="All severities if omitted.")
    rule = serializers.UUIDField(required=False, help_text="Id of a rule.")
    q = SearchField("title", "text", "event_type", "object_id")
    sort = SortField(SortKeys.of("state", "severity", "count", "last_at", first_at="id"), default="-first_at")


class NoteWrite(StrictSerializer):
    channel = serializers.UUIDField(help_text="Id of the channel.")
    subject = Text(max_length=200)
    text = Text(required=False, default="", allow_blank=True, max_length=16_000, lines=True)
    severity = serializers.ChoiceField(SEVERITIES, required=False, default="info")
    key = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=100,
        help_text="Messages with one key are one conversation: Slack changes it in place, e-mail answers it.",
    )
    state = serializers.ChoiceField(NOTE_STATES, required=False, default="firing")


class NoteRead(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="Of later messages that continue or end this one.")


def note_of(body: dict[str, Any]) -> Note:
    """Return what a body of NoteWrite says."""
    return Note(body["subject"], body["text"], body["severity"], body["key"], body["state"] == "resolved")


def show_alert(alert: Alert) -> dict[str, Any]:
    names = ("severity", "title", "text", "event_type", "event_seq", "object_type", "object_id", "count")
    moments = ("first_at", "last_at", "acknowledged_by", "acknowledged_at", "resolved_at")
    return {
        "id": str(alert.id),
        "rule_id": str(alert.rule_id),
        "rule": alert.rule.name,
        "team": alert.rule.team.slug if alert.rule.team else None,
        "state": alert.state,
        **{name: getattr(alert, name) for name in names},
        "is_sent": alert.message_id is not None,
        **{name: getattr(alert, name) for name in moments},
    }
