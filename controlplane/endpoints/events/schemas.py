"""The shapes of the event log in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Query
from controlplane.api.pages import DEFAULT_LIMIT, MAX_LIMIT
from controlplane.api.scopes import ScopeRead, show_scope
from controlplane.api.time_range import ORDERS, SinceField
from controlplane.events.models import Event
from controlplane.scopes import Scope

_MAX_SEQ = 2**63 - 1
MAX_WAIT_SECONDS = 60


class FollowQuery(Query):
    after = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=_MAX_SEQ,
        help_text="The last `seq` that you have; 0 for all. The answer is then in ascending order.",
    )
    before = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=_MAX_SEQ,
        help_text="Only lower numbers: `next_before` of the page before, for the next older page.",
    )
    since = SinceField()
    order = serializers.ChoiceField(
        choices=ORDERS,
        required=False,
        help_text="`desc` is the default: the newest first. Following (`after`, `wait`, streams) is `asc`.",
    )
    limit = serializers.IntegerField(
        required=False,
        min_value=0,
        default=DEFAULT_LIMIT,
        help_text=f"Events an answer; {MAX_LIMIT} at most.",
    )
    wait = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=MAX_WAIT_SECONDS,
        help_text="Seconds to wait for an event if there is none yet (long poll).",
    )
    type = serializers.CharField(required=False, help_text="Only this type.")
    object_type = serializers.CharField(required=False, help_text="Only about objects of this kind.")
    object_id = serializers.CharField(required=False, help_text="Only about this object.")


class EventRead(serializers.Serializer[Any]):
    seq = serializers.IntegerField(help_text="Rises. Keep the last one and ask `after` it.")
    id = serializers.UUIDField()
    type = serializers.CharField()
    at = serializers.DateTimeField()
    object_type = serializers.CharField()
    object_id = serializers.CharField()
    scope = ScopeRead()
    actor = serializers.CharField()
    request_id = serializers.CharField()
    data = serializers.DictField(  # type: ignore[assignment]  # DRF takes it out of the class
        help_text="As the type's schema says."
    )


class EventList(serializers.Serializer[Any]):
    items = EventRead(many=True)
    next_after = serializers.IntegerField(help_text="What to send as `after` to get what happens next.")
    next_before = serializers.IntegerField(
        allow_null=True,
        help_text="What to send as `before` for older events. null: there are none, or the order is `asc`.",
    )


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
