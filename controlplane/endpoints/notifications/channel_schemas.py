"""API schemas of notification channels."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.delivery.kinds import Sent
from controlplane.delivery.models import Sink, SinkState
from controlplane.notifications.channel_changes import ChannelTerms, kind_of_channel
from controlplane.notifications.channels import channel_names
from controlplane.notifications.channels.services import SERVICES

CHANNEL_KINDS = [(name, name) for name in channel_names()]
OTHER_SERVICES = [(name, name) for name in SERVICES]


class ChannelConfigWrite(StrictSerializer):
    to = serializers.ListField(
        child=Text(max_length=254), required=False, max_length=50, help_text="Of e-mail: recipients."
    )
    cc = serializers.ListField(
        child=Text(max_length=254), required=False, max_length=50, help_text="Of e-mail: other recipients."
    )
    conversation = Text(required=False, max_length=80, help_text="Of Slack with a bot: such as #alerts.")
    url = Text(required=False, max_length=2000, help_text="Of a webhook: its address.")
    service = serializers.ChoiceField(
        OTHER_SERVICES, required=False, help_text="Of the kind other: which service."
    )
    host = Text(
        required=False,
        max_length=253,
        help_text="Of gotify, matrix, mattermost, ntfy, rocketchat and zulip: the server, with a port if"
        " needed. Omitted for ntfy: ntfy.sh.",
    )
    tls = serializers.BooleanField(
        required=False,
        help_text="Of services with a host: false for trials without TLS, if WEBHOOK_ALLOW_HTTP is on.",
    )
    room = Text(
        required=False,
        max_length=256,
        help_text="Of other services: the topic, room, channel, chat or space that gets messages.",
    )
    user = Text(required=False, max_length=32, help_text="Of zulip: the name of the bot.")
    region = Text(required=False, max_length=2, help_text="Of opsgenie: us, the default, or eu.")


class NotificationChannelWrite(StrictSerializer):
    name = Text(max_length=63, help_text="Unique within the team, among sinks too.")
    kind = serializers.ChoiceField(CHANNEL_KINDS)
    config = ChannelConfigWrite(required=False)
    credentials = serializers.DictField(
        child=Text(max_length=8192),
        required=False,
        write_only=True,
        help_text="Slack: `webhook_url`, or `bot_token` and `signing_secret`. PagerDuty: `routing_key`."
        " Discord, Google Chat and Microsoft Teams: `webhook_url`. Pushover: `token` and `user_key`."
        " Opsgenie: `api_key`. Other services: `token`. They are sealed and never shown. Omitted in a change:"
        " they stay.",
    )


class NotificationChannelCreate(NotificationChannelWrite):
    team = Text(
        required=False,
        allow_null=True,
        max_length=63,
        help_text="Team that owns the channel. If omitted: the only team that you could give it to.",
    )


class NotificationChannelRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(CHANNEL_KINDS)
    team = serializers.CharField(allow_null=True, help_text="Null for the platform.")
    config = serializers.DictField()
    state = serializers.ChoiceField(SinkState.choices)
    reason = serializers.CharField(allow_blank=True, help_text="Why it is paused or disabled.")
    created_by = serializers.CharField()
    failures = serializers.IntegerField(help_text="Failed attempts since the last success.")
    last_success_at = serializers.DateTimeField()
    last_failure_at = serializers.DateTimeField(allow_null=True)
    last_error = serializers.CharField(allow_blank=True)
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class NotificationChannelCreated(NotificationChannelRead):
    secret = serializers.CharField(
        allow_blank=True,
        help_text="Verifies signatures of a webhook; empty for others and in a dry run. Shown only now.",
    )


class NotificationChannelPage(serializers.Serializer[Any]):
    items = NotificationChannelRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class NotificationChannelQuery(PageQuery):
    kind = serializers.ChoiceField(CHANNEL_KINDS, required=False, help_text="All kinds if omitted.")
    q = SearchField("name", "reason")
    sort = SortField(SortKeys.of("name", "kind", "state", created_at="id"), default="-created_at")


class ChannelTestResult(serializers.Serializer[Any]):
    recipient = serializers.CharField(allow_blank=True, help_text="Of e-mail; empty for others.")
    result = serializers.CharField()
    status = serializers.IntegerField(help_text="Of HTTP or SMTP; 0 without an answer.")
    milliseconds = serializers.IntegerField()
    error = serializers.CharField(allow_blank=True)


class ChannelTestRead(serializers.Serializer[Any]):
    results = ChannelTestResult(many=True, help_text="One per recipient.")


def terms_of(body: dict[str, Any]) -> ChannelTerms:
    """Return what a body of NotificationChannelWrite says."""
    return ChannelTerms(body["name"], body["kind"], body.get("config", {}), body.get("credentials"))


def show_channel(channel: Sink) -> dict[str, Any]:
    progress = channel.progress
    return {
        "id": str(channel.id),
        "name": channel.name,
        "kind": kind_of_channel(channel),
        "team": channel.team.slug if channel.team else None,
        "config": channel.config,
        "state": channel.state,
        "reason": channel.reason,
        "created_by": channel.created_by.name,
        "failures": progress.failures,
        "last_success_at": progress.last_success_at,
        "last_failure_at": progress.last_failure_at,
        "last_error": progress.last_error,
        "version": channel.version,
        "created_at": channel.created_at,
    }


def show_test(recipient: str, sent: Sent) -> dict[str, Any]:
    answer = sent.answer
    return {
        "recipient": recipient,
        "result": answer.result.value,
        "status": answer.status,
        "milliseconds": answer.milliseconds,
        "error": answer.error,
    }
