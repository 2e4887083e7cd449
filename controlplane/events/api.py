"""Doors to the event log: follow it, and read what the types mean."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.access.roles import Action
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Query
from controlplane.api.pages import DEFAULT_LIMIT, MAX_LIMIT
from controlplane.api.scopes import ScopeRead, show_scope
from controlplane.events import log, types
from controlplane.events.models import Event
from controlplane.scopes import Scope

_MAX_SEQ = 2**63 - 1


class FollowQuery(Query):
    after = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=_MAX_SEQ,
        help_text="The last `seq` that you have; 0 for all.",
    )
    limit = serializers.IntegerField(
        required=False,
        min_value=0,
        default=DEFAULT_LIMIT,
        help_text=f"Events an answer; {MAX_LIMIT} at most.",
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
    next_after = serializers.IntegerField(help_text="What to send as `after` next time.")


class EventTypeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    meaning = serializers.CharField()
    schema = serializers.DictField(help_text="JSON Schema 2020-12 of `data`.")


class EventTypeList(serializers.Serializer[Any]):
    items = EventTypeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


_EVENTS = OpenApiExample(
    "One event",
    value={
        "items": [
            {
                "seq": 12,
                "id": "019a9f5e-7c00-7000-8000-000000000021",
                "type": "project.created",
                "at": "2026-11-21T09:30:00Z",
                "object_type": "project",
                "object_id": "flytesnacks",
                "scope": {
                    "level": "project",
                    "project": "flytesnacks",
                    "domain": "",
                    "workflow": "",
                    "launch_plan": "",
                },
                "actor": "admin",
                "request_id": "019a9f5e-7c00-7000-8000-000000000099",
                "data": {"project": "flytesnacks"},
            }
        ],
        "next_after": 12,
    },
    response_only=True,
)
_TYPES = OpenApiExample(
    "One type",
    value={
        "items": [
            {
                "name": "project.created",
                "meaning": "A project was registered.",
                "schema": {"type": "object", "properties": {"project": {"type": "string"}}},
            }
        ],
        "next_cursor": None,
    },
    response_only=True,
)


class EventCollection(Endpoint):
    actions = {"GET": Action.EVENT_READ}

    @extend_schema(
        operation_id="events_list",
        summary="Follow what happens",
        description=(
            "Ask again with `after` = `next_after`. A follower misses nothing, in whatever order writers "
            "commit; the events of one object come in the order of its changes."
        ),
        tags=["events"],
        parameters=[FollowQuery],
        responses=EventList,
        examples=[_EVENTS],
    )
    def get(self, request: Request) -> Response:
        query = FollowQuery.parse(request)
        events = log.follow(query["after"]).within(caller_of(request).scopes_for(Action.EVENT_READ))
        events = events.filter(**{k: query[k] for k in ("type", "object_type", "object_id") if k in query})
        found = list(events[: min(query["limit"] or DEFAULT_LIMIT, MAX_LIMIT)])
        last = found[-1].seq if found else query["after"]
        return Response({"items": [show_event(event) for event in found], "next_after": last})


class EventTypeCollection(Endpoint):
    actions = {"GET": Action.SELF_READ}

    @extend_schema(
        operation_id="event_types_list",
        summary="What can happen, and what it means",
        tags=["events"],
        responses=EventTypeList,
        examples=[_TYPES],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        items = [{"name": t.name, "meaning": t.meaning, "schema": t.schema} for t in types.registered()]
        return Response({"items": items, "next_cursor": None})


def show_event(event: Event) -> dict[str, Any]:
    names = ("seq", "type", "at", "object_type", "object_id", "actor", "request_id", "data")
    scope = Scope(event.domain, event.project, event.workflow, event.launch_plan)
    return {name: getattr(event, name) for name in names} | {
        "id": str(event.id),
        "scope": show_scope(scope),
    }
