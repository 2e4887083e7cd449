"""API schemas of the event log."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Query
from controlplane.api.pages import DEFAULT_LIMIT, MAX_LIMIT
from controlplane.api.scans import NOTE
from controlplane.api.scopes import ScopeRead, show_scope
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.api.time_range import ORDERS, TIME_KEYS, SinceField, UntilField, with_order
from controlplane.events.models import Event
from controlplane.events.stream_protocol import CLOUDEVENTS, NATIVE
from controlplane.scopes import Scope

_MAX_SEQ = 2**63 - 1
MAX_WAIT_SECONDS = 60
FORMATS = [(name, name) for name in (NATIVE, CLOUDEVENTS)]


class FollowQuery(Query):
    after = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=_MAX_SEQ,
        help_text="Only events after this `seq`, in ascending order. 0: all events.",
    )
    before = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=_MAX_SEQ,
        help_text="Only events before this `seq`: the `next_before` of the previous page, for older events.",
    )
    since = SinceField()
    until = UntilField()
    order = serializers.ChoiceField(
        choices=ORDERS,
        required=False,
        help_text="Sort order. `desc` (newest first) is the default; following with `after`, `wait` or a"
        " stream uses `asc`.",
    )
    sort = SortField(TIME_KEYS, help_text="The same as `order`: `at` or `-at`.")
    q = SearchField("type", "object_id", "actor", "data", note=NOTE.replace("next page", "`next_before`"))
    limit = serializers.IntegerField(
        required=False,
        min_value=0,
        default=DEFAULT_LIMIT,
        help_text=f"Maximum number of events in the response, up to {MAX_LIMIT}.",
    )
    wait = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=MAX_WAIT_SECONDS,
        help_text="Maximum seconds to wait if there is no event yet (long poll).",
    )
    type = serializers.CharField(required=False, help_text="Filter by event type.")
    object_type = serializers.CharField(required=False, help_text="Filter by object type.")
    object_id = serializers.CharField(required=False, help_text="Filter by object id.")
    format = serializers.ChoiceField(
        FORMATS,
        required=False,
        default=NATIVE,
        help_text="`cloudevents`: as CloudEvents 1.0, with the attributes that webhooks get. A stream has"
        " them as `data`; other responses are `application/cloudevents-batch+json`.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return with_order(attrs, self.initial_data)


class EventRead(serializers.Serializer[Any]):
    seq = serializers.IntegerField(
        help_text="Ascending number of the event. To continue later, send the last one as `after`."
    )
    id = serializers.UUIDField()
    type = serializers.CharField()
    at = serializers.DateTimeField()
    object_type = serializers.CharField()
    object_id = serializers.CharField()
    scope = ScopeRead()
    actor = serializers.CharField()
    request_id = serializers.CharField()
    data = serializers.DictField(  # type: ignore[assignment]  # DRF removes it from the class
        help_text="Data of the event, as described by the schema of its type."
    )


class EventList(serializers.Serializer[Any]):
    items = EventRead(many=True)
    next_after = serializers.IntegerField(help_text="Value of `after` for later events.")
    next_before = serializers.IntegerField(
        allow_null=True,
        help_text="Value of `before` for older events. null: there are none, or the order is `asc`.",
    )


class CloudEventRead(serializers.Serializer[Any]):
    specversion = serializers.CharField()
    id = serializers.UUIDField(help_text="Equal for every delivery and replay: drop duplicates by it.")
    source = serializers.CharField()  # type: ignore[assignment]  # as `data` below
    type = serializers.CharField(help_text="`dev.controlplane.`, the event type, and a version.")
    subject = serializers.CharField(help_text="Type and id of the object, percent-encoded.")
    time = serializers.DateTimeField()
    datacontenttype = serializers.CharField()
    dataschema = serializers.CharField(help_text="Where the JSON Schema of `data` is served.")
    cpseq = serializers.CharField(help_text="The `seq`. To continue later, send the last one as `after`.")
    cpactor = serializers.CharField()
    cprequestid = serializers.CharField(required=False)
    cpteam = serializers.CharField(required=False, help_text="Absent for objects of the platform.")
    partitionkey = serializers.CharField(help_text="Events with one key are in order.")
    sequence = serializers.CharField(help_text="The `seq` with 20 digits, so that texts sort as numbers.")
    data = serializers.DictField()  # type: ignore[assignment]  # DRF removes it from the class


class SchemaQuery(Query):
    v = serializers.IntegerField(required=False, default=1, min_value=1, help_text="Version of the schema.")


class EventTypeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    meaning = serializers.CharField()
    schema = serializers.DictField(help_text="JSON Schema 2020-12 of `data`.")


class EventTypeList(serializers.Serializer[Any]):
    items = EventTypeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def show_event(event: Event) -> dict[str, Any]:
    names = ("seq", "type", "at", "object_type", "object_id", "actor", "request_id", "data")
    scope = Scope(event.domain, event.project, event.workflow, event.launch_plan)
    return {name: getattr(event, name) for name in names} | {
        "id": str(event.id),
        "scope": show_scope(scope),
    }
