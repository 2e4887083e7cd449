"""The events page: a live list, filtered by type and object."""

from __future__ import annotations

import json
from typing import Any

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from console.cpctl_commands import cpctl, curl
from console.filter_choices import select_options
from console.listing import Column, read_listing
from console.pages import load_page, page
from console.stale_lists import may_be_stale
from controlplane.api.time_range import in_range, read_range
from controlplane.errors import InvalidRequest
from controlplane.events import log, types
from controlplane.events.models import Event, EventQuerySet
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_FILTERS = ("type", "object_type", "object_id")
_RANGE = ("since", "until")
_MOST_NUMBERED = 200
_COLUMNS = (
    Column("number", "Number", "tiny", is_number=True),
    Column("time", "Time", "narrow", order=("position",), is_optional=False),
    Column("type", "Type", "wide", is_optional=False),
    Column("meaning", "Meaning"),
    Column("object", "Object"),
    Column("object_type", "Object type", "narrow", is_extra=True),
    Column("actor", "Actor", "narrow"),
)


@page
@may_be_stale
def events(request: HttpRequest, caller: Caller) -> HttpResponse:
    if not caller.owners_for(Action.EVENT_READ):
        caller.require_somewhere(Action.EVENT_READ)
    # Not all: after a storm that takes seconds. The others are shown without a number.
    log.number_oldest(_MOST_NUMBERED)
    parameters = {name: request.GET.get(name, "").strip() for name in (*_FILTERS, *_RANGE)}
    filters = {name: value for name, value in parameters.items() if value}
    meanings = {event_type.name: event_type.meaning for event_type in types.registered()}
    listing = read_listing(request, "events", "Events", _COLUMNS, sort="-time")
    context: dict[str, Any] = {
        "listing": listing,
        "filters": parameters,
        "filtered": bool(filters),
        "types": select_options(meanings, parameters["type"]),
    }
    try:
        rows = _matching(caller, filters)
    except InvalidRequest as error:
        # With the form, so that only the time must be corrected.
        return render(request, "console/records/events.html", {**context, "problem": error}, status=422)
    results = load_page(request, caller, rows, order=listing.order)
    newest = next((event.seq for event in results.items if event.seq), None) or log.last_given()
    context |= {
        "results": results,
        "events": [(event, meanings.get(event.type, ""), _to_json(event)) for event in results.items],
        # Only the first page updates: new events appear there.
        "is_live": listing.sort == "-time" and not (request.GET.get("cursor") or parameters["until"]),
        "newest": newest,
        "copies": _copies(request, newest, filters),
    }
    return render(request, "console/records/events.html", context)


def _matching(caller: Caller, filters: dict[str, str]) -> EventQuerySet:
    """Raises InvalidRequest if a time cannot be read."""
    rows = visible_events(caller).filter(in_range(read_range(filters))).annotate(now=Now())
    values = {name: value for name, value in filters.items() if name in _FILTERS}
    printable = all(value.isprintable() for value in values.values())
    return rows.filter(**values) if printable else rows.none()


def _to_json(event: Event) -> str:
    return json.dumps(event.data, ensure_ascii=False, indent=1)


def _copies(request: HttpRequest, newest: int, filters: dict[str, str]) -> dict[str, str]:
    """Return commands that stream events after the newest number on the page."""
    chosen = {name: value for name, value in filters.items() if name in _FILTERS}
    parameters = {"after": str(newest), **chosen}
    stream = curl(request, "GET", f"events?{urlencode(parameters)}")
    options = [word for name, value in parameters.items() for word in (f"--{name.replace('_', '-')}", value)]
    return {
        "curl": stream.replace("curl ", "curl -N -H 'Accept: text/event-stream' ", 1),
        "cpctl": cpctl("events", "--watch", *options),
    }
