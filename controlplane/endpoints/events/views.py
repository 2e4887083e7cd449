"""HTTP endpoints for events and event types."""

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
from controlplane.api.endpoints import OF_LISTS, Endpoint, caller_of
from controlplane.api.fields import Query
from controlplane.api.pages import DEFAULT_LIMIT, MAX_LIMIT
from controlplane.api.time_range import ASCENDING, DESCENDING, in_range
from controlplane.database.instances import load_instances
from controlplane.delivery.changes import described
from controlplane.delivery.cloudevents import BATCH
from controlplane.endpoints.events.cloudevents import CLOUDEVENTS_EXAMPLE, batch_response, stream_text
from controlplane.endpoints.events.listing import check_search, event_page, newest_page
from controlplane.endpoints.events.schemas import (
    CloudEventRead,
    EventList,
    EventTypeList,
    FollowQuery,
    SchemaQuery,
    show_event,
)
from controlplane.endpoints.events.watch_header import hand_over
from controlplane.errors import EventsGone, FieldError, InvalidRequest, UnknownEventType
from controlplane.events import log, types
from controlplane.events.models import Event
from controlplane.events.stream_protocol import CLOUDEVENTS, Watch, as_text, bookmark
from controlplane.events.visibility import event_filter_for, readable_events
from controlplane.identity.callers import Caller
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
    "Last-Event-ID",
    int,
    OpenApiParameter.HEADER,
    description="Same as `after`, sent by clients that reconnect.",
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
_SCHEMA = OpenApiExample(
    "A schema",
    value={"type": "object", "properties": {"project": {"type": "string"}}, "required": ["project"]},
    response_only=True,
)


class EventCollection(Endpoint):
    actions = {"GET": Action.EVENT_READ}
    staleness = OF_LISTS
    problems = {"GET": (errors.EventsGone,)}

    @extend_schema(
        operation_id="events_list",
        summary="List or follow events",
        description=(
            "Returns the events that you may read, newest first. For older events, send `before` ="
            " `next_before`.\n\nTo follow the log, send `after` = `next_after`; events are then in"
            " ascending order. A follower misses no event, in whatever order transactions commit, and"
            " gets the events of one object in the order of its changes. For immediate delivery, use"
            " `wait` (long poll), or `Accept: text/event-stream` for server-sent events: `id` is the"
            " `seq`, `event` the type, `data` an event as below. To resume a stream, send"
            " `Last-Event-ID`; a periodic `bookmark` event updates it while there are no others.\n\n"
            "With `format=cloudevents`, events are CloudEvents 1.0 with the attributes that webhooks get."
        ),
        tags=["events"],
        parameters=[FollowQuery, _LAST_EVENT_ID],
        responses={
            (200, "application/json"): EventList,
            (200, BATCH): CloudEventRead(many=True),
            (200, "text/event-stream"): OpenApiTypes.STR,
        },
        examples=[_EVENTS, CLOUDEVENTS_EXAMPLE, _STREAM],
    )
    def get(self, request: Request) -> HttpResponseBase:
        query = FollowQuery.parse(request)
        streams = "text/event-stream" in request.headers.get("Accept", "")
        last_before = log.last_number()
        follows = _follows(request, query, streams=streams)
        after = _after(request, query, last_before, streams=streams) if follows else 0
        caller = caller_of(request)
        event_filter = event_filter_for(caller)
        filters = {k: query[k] for k in ("type", "object_type", "object_id") if k in query}
        rows = readable_events(event_filter).filter(in_range(query), **filters)
        most = min(query["limit"] or DEFAULT_LIMIT, MAX_LIMIT)
        if query["q"]:
            check_search(query, follows=follows)
            logged = Event.objects.filter(in_range(query), **filters)
            return Response(newest_page(rows.filter(query["q"]), query, last_before, logged))
        if not follows:
            if query["format"] == CLOUDEVENTS:
                older = rows.numbered_before(query.get("before"))
                return batch_response(load_instances(older[:most]), caller)
            return Response(newest_page(rows, query, last_before))
        events = load_instances(rows.numbered_after(after)[:most])
        last = _last_returned(events, full=len(events) >= most, last_before=last_before)
        watch = Watch(last, str(caller.principal_id), event_filter, wait=query["wait"], **filters)
        watch = replace(watch, format=query["format"])
        if streams:
            return _stream(request, events, watch, caller)
        is_cloud = watch.format == CLOUDEVENTS
        response = batch_response(events, caller) if is_cloud else _listed(events, last)
        if watch.wait and not events:
            hand_over(watch, request.headers, response)
        return response


def _follows(request: Request, query: dict[str, Any], *, streams: bool) -> bool:
    """True if the request follows the log. Raises InvalidRequest for contradictory parameters."""
    follows = streams or query["wait"] or "after" in query or "Last-Event-ID" in request.headers
    if follows and (query.get("order") == DESCENDING or "before" in query):
        message = "Requests that follow the log are in ascending order. Omit `order` and `before`."
        name = "before" if "before" in query else "order"
        raise InvalidRequest(message, errors=[FieldError(f"?{name}", "not_allowed", message)])
    if "until" in query and (streams or query["wait"]):
        message = "A stream or a wait has no end in time. Omit `until`."
        raise InvalidRequest(message, errors=[FieldError("?until", "not_allowed", message)])
    return bool(follows) or query.get("order") == ASCENDING


def _listed(events: list[Event], next_after: int) -> HttpResponseBase:
    return Response(event_page(events, next_after=next_after, next_before=None))


def _last_returned(events: list[Event], *, full: bool, last_before: int) -> int:
    """Return the number up to which all events are returned. last_before: the last one before the read."""
    last = events[-1].seq or 0 if events else 0
    return last if full else max(last, last_before)


def _after(request: Request, query: dict[str, Any], last: int, *, streams: bool) -> int:
    """Return the number of the caller's last event. Raises InvalidRequest, EventsGone."""
    last_event_id = request.headers.get("Last-Event-ID", "")
    if last_event_id and not (
        last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) < 19
    ):
        message = "Last-Event-ID is not a valid `seq`. Send the `seq` of your last event."
        raise InvalidRequest(message, errors=[FieldError("header:Last-Event-ID", "malformed", message)])
    # A stream of events since a time begins in the past.
    first = last if streams and "since" not in query else 0
    after = int(last_event_id) if last_event_id else query.get("after", first)
    if after > last:
        raise EventsGone(
            f"Your last event is {after}, but the log ends at {last}: it was restored from an older"
            f" backup. Read the resources again, then continue after {last}."
        )
    _check_kept(int(after), is_beginning=not last_event_id and ("after" not in query or "since" in query))
    return int(after)


def _check_kept(after: int, *, is_beginning: bool) -> None:
    """Raise EventsGone if events after this number were dropped.

    is_beginning: 0 means the oldest event that there is.
    """
    if after and (until := log.continues_after(after)) is not None:
        raise EventsGone(
            f"Your last event is {after}, which was lost: the database was restored from a backup. Read the"
            f" resources again, then continue after {until}.",
            oldest_seq=until + 1,
        )
    dropped = log.dropped_number()
    if after >= dropped or (after == 0 and is_beginning):
        return
    raise EventsGone(
        f"Your last event is {after}, but the oldest event that is kept is {dropped + 1}. Read the resources"
        f" again, then continue after {dropped}.",
        oldest_seq=dropped + 1,
    )


def _stream(request: Request, events: list[Event], watch: Watch, caller: Caller) -> HttpResponseBase:
    """Return the existing events. The stream continues in `streams`, or with the client's next request."""
    if watch.format == CLOUDEVENTS:
        text = stream_text(events, caller)
    else:
        text = b"".join(as_text(event.seq or 0, event.type, show_event(event)) for event in events)
    response = HttpResponse(text or bookmark(watch.after), content_type="text/event-stream; charset=utf-8")
    # nginx would buffer events.
    response["X-Accel-Buffering"] = "no"
    hand_over(replace(watch, wait=0), request.headers, response)
    return response


class EventTypeCollection(Endpoint):
    actions = {"GET": Action.SELF_READ}

    @extend_schema(
        operation_id="event_types_list",
        summary="List event types",
        description="Returns all event types with their meaning and the JSON Schema of their data.",
        tags=["events"],
        responses=EventTypeList,
        examples=[_TYPES],
    )
    def get(self, request: Request) -> Response:
        Query.parse(request)
        items = [{"name": t.name, "meaning": t.meaning, "schema": t.schema} for t in types.registered()]
        return Response({"items": items, "next_cursor": None})


class EventTypeSchema(Endpoint):
    actions = {"GET": Action.SELF_READ}
    problems = {"GET": (errors.UnknownEventType,)}

    @extend_schema(
        operation_id="event_types_schema",
        summary="Get the schema of an event type",
        description="The JSON Schema of the data in one version. A version never changes: `dataschema` of"
        " CloudEvents names it.",
        tags=["events"],
        parameters=[SchemaQuery],
        responses=OpenApiTypes.OBJECT,
        examples=[_SCHEMA],
    )
    def get(self, request: Request, name: str) -> Response:
        version = SchemaQuery.parse(request)["v"]
        event_type = types.find(name)
        if event_type is None or version != 1:
            raise UnknownEventType(
                f"There is no event type {name[:80]!r} in version {version}. See GET /api/v1/event-types."
            )
        headers = {"Cache-Control": "private, max-age=86400, immutable"}
        return Response(described(event_type.schema), headers=headers)
