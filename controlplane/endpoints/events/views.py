"""Doors to the event log: follow it, and read what the types mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane import errors
from controlplane.api.endpoints import Endpoint, caller_of
from controlplane.api.fields import Query
from controlplane.api.pages import DEFAULT_LIMIT, MAX_LIMIT
from controlplane.api.time_range import ASCENDING, DESCENDING, newer_than
from controlplane.endpoints.events.schemas import EventList, EventTypeList, FollowQuery, show_event
from controlplane.endpoints.events.watch_header import hand_over
from controlplane.errors import EventsGone, FieldError, InvalidRequest
from controlplane.events import log, types
from controlplane.events.models import Event, EventQuerySet
from controlplane.events.stream_protocol import Watch, as_text, bookmark
from controlplane.events.visibility import seen_with, sight_of
from controlplane.identity.roles import Action

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
        "next_before": None,
    },
    response_only=True,
)
_STREAM = OpenApiExample(
    "A stream",
    value="id: 12\nevent: project.created\ndata: {...}\n\n",
    response_only=True,
    media_type="text/event-stream",
)
_LAST_EVENT_ID = OpenApiParameter(
    "Last-Event-ID", int, OpenApiParameter.HEADER, description="As `after`, by clients that come back."
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
    problems = {"GET": (errors.EventsGone,)}

    @extend_schema(
        operation_id="events_list",
        summary="List or follow events",
        description=(
            "Only events that you may read, the newest first. For an older page send `before` = "
            "`next_before`.\n\n"
            "To follow, ask with `after` = `next_after`: the answer is in ascending order. A follower misses "
            "nothing, in whatever order writers commit; the events of one object come in the order of its "
            "changes. To get events at once, use `wait` (long poll), or `Accept: text/event-stream` for "
            "server-sent events: `id` is the `seq`, `event` the type, `data` an event as below. A stream "
            "that breaks goes on with `Last-Event-ID`; in quiet times a `bookmark` moves it on."
        ),
        tags=["events"],
        parameters=[FollowQuery, _LAST_EVENT_ID],
        responses={
            (200, "application/json"): EventList,
            (200, "text/event-stream"): OpenApiTypes.STR,
        },
        examples=[_EVENTS, _STREAM],
    )
    def get(self, request: Request) -> HttpResponseBase:
        query = FollowQuery.parse(request)
        streams = "text/event-stream" in request.headers.get("Accept", "")
        seen = log.last_number()
        follows = _follows(request, query, streams=streams)
        after = _after(request, query, seen, streams=streams) if follows else 0
        caller = caller_of(request)
        sight = sight_of(caller)
        filters = {k: query[k] for k in ("type", "object_type", "object_id") if k in query}
        rows = seen_with(sight).filter(**filters)
        if "since" in query:
            rows = rows.filter(newer_than(query["since"]))
        most = min(query["limit"] or DEFAULT_LIMIT, MAX_LIMIT)
        if not follows:
            return Response(_newest(rows.numbered_before(query.get("before")), most, seen))
        events = list(rows.numbered_after(after)[:most])
        last = _moved_on(events, full=len(events) >= most, seen=seen)
        watch = Watch(last, str(caller.principal_id), sight, wait=query["wait"], **filters)
        if streams:
            return _stream(request, events, watch)
        response = Response(_page(events, next_after=last, next_before=None))
        if watch.wait and not events:
            hand_over(watch, request.headers, response)
        return response


def _follows(request: Request, query: dict[str, Any], *, streams: bool) -> bool:
    """True if the caller follows the log, in ascending order. Raises InvalidRequest for both at once."""
    asked = streams or query["wait"] or "after" in query or "Last-Event-ID" in request.headers
    if asked and (query.get("order") == DESCENDING or "before" in query):
        message = "Following is in ascending order. Leave `order` and `before` out, or do not follow."
        name = "before" if "before" in query else "order"
        raise InvalidRequest(message, errors=[FieldError(f"?{name}", "not_allowed", message)])
    return bool(asked) or query.get("order") == ASCENDING


def _newest(rows: EventQuerySet, most: int, seen: int) -> dict[str, Any]:
    """A page that ends with the oldest of its events. seen: the last number before they were read."""
    found = list(rows[: most + 1])
    events = found[:most]
    last = max(seen, events[0].seq or 0) if events else seen
    return _page(events, next_after=last, next_before=events[-1].seq if len(found) > most else None)


def _page(events: list[Event], *, next_after: int, next_before: int | None) -> dict[str, Any]:
    items = [show_event(event) for event in events]
    return {"items": items, "next_after": next_after, "next_before": next_before}


def _moved_on(events: list[Event], *, full: bool, seen: int) -> int:
    """The number up to which all is told. seen: the last one before the events were read."""
    last = events[-1].seq or 0 if events else 0
    return last if full else max(last, seen)


def _after(request: Request, query: dict[str, Any], last: int, *, streams: bool) -> int:
    """Where the caller left off. Raises InvalidRequest, EventsGone."""
    said = request.headers.get("Last-Event-ID", "")
    if said and not (said.isascii() and said.isdecimal() and len(said) < 19):
        message = "Last-Event-ID is the `seq` of the last event that you have."
        raise InvalidRequest(message, errors=[FieldError("header:Last-Event-ID", "malformed", message)])
    # A stream of what is newer than a time begins in the past.
    first = last if streams and "since" not in query else 0
    after = int(said) if said else query.get("after", first)
    if after > last:
        raise EventsGone(
            f"You have seen event {after}, and the last one here is {last}: the log was restored from an "
            f"older backup. Read again what you follow, then go on after {last}."
        )
    return int(after)


def _stream(request: Request, events: list[Event], watch: Watch) -> HttpResponseBase:
    """What there is; the watchers in front of us go on from there, and any client can by itself."""
    text = b"".join(as_text(event.seq or 0, event.type, show_event(event)) for event in events)
    response = HttpResponse(text or bookmark(watch.after), content_type="text/event-stream; charset=utf-8")
    # nginx would keep events back until it has many.
    response["X-Accel-Buffering"] = "no"
    hand_over(replace(watch, wait=0), request.headers, response)
    return response


class EventTypeCollection(Endpoint):
    actions = {"GET": Action.SELF_READ}

    @extend_schema(
        operation_id="event_types_list",
        summary="List event types",
        description="Every type of event with its meaning and the JSON Schema of its data.",
        tags=["events"],
        responses=EventTypeList,
        examples=[_TYPES],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        items = [{"name": t.name, "meaning": t.meaning, "schema": t.schema} for t in types.registered()]
        return Response({"items": items, "next_cursor": None})
