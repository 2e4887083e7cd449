"""API schemas of sinks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.scopes import ScopeWrite
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.api.time_range import SinceField
from controlplane.delivery.expressions import MAX_LENGTH
from controlplane.delivery.flavours import NATIVE, Flavour
from controlplane.delivery.kinds import Sent, sink_kind_names
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.models import Ordering, Sink, SinkState
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.endpoints.sinks.config_schema import SinkConfigWrite

KINDS = [(name, name) for name in sink_kind_names()]
FLAVOURS = [(flavour.value, flavour.value) for flavour in Flavour]
_MOST = 100
MOST_OVERLAP = timedelta(days=7)


class SinkListQuery(PageQuery):
    state = serializers.ChoiceField(SinkState.choices, required=False, help_text="All states if omitted.")
    q = SearchField("name", "kind", "reason")
    sort = SortField(SortKeys.of("name", "kind", "state", created_at="id"), default="-created_at")


class SinkFilterWrite(StrictSerializer):
    """All parts must hold. An empty filter passes every event that you may read."""

    types = serializers.ListField(
        child=Text(max_length=64),
        required=False,
        max_length=_MOST,
        help_text="Event types, such as `agent.unavailable`, or all of a kind: `agent.*`.",
    )
    scopes = ScopeWrite(many=True, required=False, help_text="Events at these scopes and below.")
    teams = serializers.ListField(child=Text(max_length=63), required=False, max_length=_MOST)
    object_types = serializers.ListField(child=Text(max_length=63), required=False, max_length=_MOST)
    labels = serializers.DictField(
        child=Text(max_length=255, allow_blank=True), required=False, help_text="Of the data's `labels`."
    )
    expression = Text(
        required=False,
        allow_blank=True,
        max_length=MAX_LENGTH,
        help_text="A part of CloudEvents SQL, such as `data.environment IN ('prod') AND EXISTS cpteam`.",
    )


class SinkWrite(StrictSerializer):
    name = Text(max_length=63, help_text="Unique within the team.")
    kind = serializers.ChoiceField(KINDS, required=False, default="webhook")
    config = SinkConfigWrite()
    credentials = serializers.DictField(
        child=Text(max_length=8192),
        required=False,
        write_only=True,
        help_text="Secrets of its kind, such as `password`. They are sealed and never shown. Omitted in a "
        "change: they stay.",
    )
    filter = SinkFilterWrite(required=False)
    flavour = serializers.ChoiceField(
        FLAVOURS,
        required=False,
        default=NATIVE,
        help_text="In whose format events are sent. Those of Flyte get events of Flyte's engine alone.",
    )
    ordering = serializers.ChoiceField(
        Ordering.choices,
        required=False,
        default=Ordering.OBJECT.value,
        help_text="Events of one object, or of one scope, are sent one after the other.",
    )
    max_in_flight = Whole(required=False, default=8, min_value=1, max_value=64)
    per_second = Whole(required=False, default=50, min_value=1, max_value=1000)


class SinkCreate(SinkWrite):
    team = Text(
        required=False,
        allow_null=True,
        max_length=63,
        help_text="Team that owns the sink. If omitted: the only team that you could give it to.",
    )
    after = Whole(
        required=False,
        min_value=0,
        help_text="Send the events after this number. Omitted: those from now on.",
    )
    secret = Text(
        required=False,
        max_length=100,
        help_text="`whsec_` and 24 to 64 bytes in base64. Omitted: a new one.",
    )


class SinkRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(KINDS)
    team = serializers.CharField(allow_null=True, help_text="Null for the platform.")
    config = serializers.DictField()
    filter = serializers.DictField()
    flavour = serializers.ChoiceField(FLAVOURS)
    ordering = serializers.ChoiceField(Ordering.choices)
    max_in_flight = serializers.IntegerField()
    per_second = serializers.IntegerField()
    state = serializers.ChoiceField(SinkState.choices)
    reason = serializers.CharField(allow_blank=True, help_text="Why it is paused or disabled.")
    created_by = serializers.CharField(help_text="With whose permissions events are chosen.")
    cursor_seq = serializers.IntegerField(help_text="Number of the last event that was looked at.")
    failures = serializers.IntegerField(help_text="Failed attempts since the last success.")
    last_success_at = serializers.DateTimeField()
    last_failure_at = serializers.DateTimeField(allow_null=True)
    last_error = serializers.CharField(allow_blank=True)
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class SinkCreated(SinkRead):
    secret = serializers.CharField(
        allow_blank=True, help_text="Verifies signatures. It is shown only now; empty in a dry run."
    )


class SinkPage(serializers.Serializer[Any]):
    items = SinkRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class SecretRotation(StrictSerializer):
    overlap_hours = Whole(
        required=False,
        default=24,
        min_value=0,
        max_value=int(MOST_OVERLAP.total_seconds()) // 3600,
        help_text="For so long, the old secrets sign too.",
    )


class SecretRead(serializers.Serializer[Any]):
    secret = serializers.CharField(allow_blank=True, help_text="It is shown only now; empty in a dry run.")


class ReplayWrite(StrictSerializer):
    after_seq = Whole(required=False, min_value=0, help_text="Events after this number.")
    since = SinceField(help_text="Instead of `after_seq`: a duration such as `2h`, or an RFC 3339 time.")
    until_seq = Whole(required=False, min_value=0, help_text="Up to this number. Omitted: up to now.")
    types = serializers.ListField(child=Text(max_length=64), required=False, max_length=_MOST)

    def validate(self, body: dict[str, Any]) -> dict[str, Any]:
        if ("after_seq" in body) == ("since" in body):
            raise serializers.ValidationError("Give either `after_seq` or `since`.", code="invalid")
        return body


class ReplayRead(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    after_seq = serializers.IntegerField()
    until_seq = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class SinkTestRead(serializers.Serializer[Any]):
    result = serializers.CharField()
    status = serializers.IntegerField(help_text="Of HTTP; 0 without an answer.")
    milliseconds = serializers.IntegerField()
    error = serializers.CharField(allow_blank=True)
    tls = serializers.CharField(allow_blank=True, help_text="Version and cipher of the connection.")
    headers = serializers.DictField(child=serializers.CharField(), help_text="As sent, without signatures.")


class FilterPreviewWrite(StrictSerializer):
    filter = SinkFilterWrite()


class PreviewedEvent(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    type = serializers.CharField()
    subject = serializers.CharField()
    at = serializers.DateTimeField()


class FilterPreviewRead(serializers.Serializer[Any]):
    looked_at = serializers.IntegerField(help_text="How many of the last events you may read, up to 1,000.")
    matching = serializers.IntegerField()
    events = PreviewedEvent(many=True, help_text="Those that pass, newest first, at most 50.")


def terms_of(body: dict[str, Any]) -> SinkTerms:
    """Return what a body of SinkWrite says."""
    names = ("name", "kind", "config", "flavour", "ordering", "max_in_flight", "per_second")
    return SinkTerms(
        filter=body.get("filter", {}),
        credentials=body.get("credentials"),
        **{name: body[name] for name in names},
    )


def show_sink(sink: Sink) -> dict[str, Any]:
    progress = sink.progress
    return {
        "id": str(sink.id),
        "name": sink.name,
        "kind": sink.kind,
        "team": sink.team.slug if sink.team else None,
        "config": sink.config,
        "filter": sink.filter,
        "flavour": sink.flavour,
        "ordering": sink.ordering,
        "max_in_flight": sink.max_in_flight,
        "per_second": sink.per_second,
        "state": sink.state,
        "reason": sink.reason,
        "created_by": sink.created_by.name,
        "cursor_seq": sink.cursor_seq,
        "failures": progress.failures,
        "last_success_at": progress.last_success_at,
        "last_failure_at": progress.last_failure_at,
        "last_error": progress.last_error,
        "version": sink.version,
        "created_at": sink.created_at,
    }


def show_test(sent: Sent) -> dict[str, Any]:
    answer = sent.answer
    return {
        "result": answer.result.value,
        "status": answer.status,
        "milliseconds": answer.milliseconds,
        "error": answer.error,
        "tls": sent.tls,
        "headers": sent.headers,
    }


def show_previewed(event: LoggedEvent) -> dict[str, Any]:
    return {"seq": event.seq, "type": event.type, "subject": event.object_key, "at": event.at}
