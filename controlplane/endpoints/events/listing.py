"""Pages of the event log, the newest events first, and searches by text."""

from __future__ import annotations

from typing import Any

from controlplane.api.pages import DEFAULT_LIMIT, MAX_LIMIT
from controlplane.api.scans import next_scan
from controlplane.database.instances import load_instances
from controlplane.endpoints.events.schemas import show_event
from controlplane.errors import FieldError, InvalidRequest
from controlplane.events.models import Event, EventQuerySet
from controlplane.events.stream_protocol import CLOUDEVENTS


def check_search(query: dict[str, Any], *, follows: bool) -> None:
    """Raise InvalidRequest for parameters that a text search does not have."""
    if follows or query["format"] == CLOUDEVENTS:
        message = (
            "A text search lists events in JSON, newest first. Omit `q`, or omit `after`, `wait`, `format`,"
            " ascending order and `Accept: text/event-stream`."
        )
        raise InvalidRequest(message, errors=[FieldError("?q", "not_allowed", message)])


def newest_page(
    rows: EventQuerySet, query: dict[str, Any], last_before: int, scanned: EventQuerySet | None = None
) -> dict[str, Any]:
    """Return a page with the newest events first. last_before: the last number before the read.

    scanned: events that a text search looks through.
    """
    most, before = min(query["limit"] or DEFAULT_LIMIT, MAX_LIMIT), query.get("before")
    scan = None if scanned is None else next_scan(scanned.numbered_before(before), ("-seq",))
    rows = rows.filter(scan.condition) if scan else rows
    rows_read = load_instances(rows.numbered_before(before)[: most + 1])
    events = rows_read[:most]
    last = max(last_before, events[0].seq or 0) if events else last_before
    rest = scan.last[0] if scan else None
    return event_page(events, next_after=last, next_before=events[-1].seq if len(rows_read) > most else rest)


def event_page(events: list[Event], *, next_after: int, next_before: int | None) -> dict[str, Any]:
    items = [show_event(event) for event in events]
    return {"items": items, "next_after": next_after, "next_before": next_before}
