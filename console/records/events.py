"""The events page: a live list, filtered by type and object."""

from __future__ import annotations

import json

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from console.cpctl_commands import cpctl, curl
from console.filter_choices import select_options
from console.pages import load_page, page
from console.stale_lists import may_be_stale
from controlplane.endpoints.events.schemas import show_event
from controlplane.events import log, types
from controlplane.events.models import Event
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_FILTERS = ("type", "object_type", "object_id")


@page
@may_be_stale
def events(request: HttpRequest, caller: Caller) -> HttpResponse:
    if not caller.owners_for(Action.EVENT_READ):
        caller.require_somewhere(Action.EVENT_READ)
    log.number_committed()
    parameters = {name: request.GET.get(name, "").strip() for name in _FILTERS}
    filters = {name: value for name, value in parameters.items() if value}
    rows = visible_events(caller).exclude(seq=None).annotate(now=Now())
    printable = all(value.isprintable() for value in filters.values())
    results = load_page(
        request, caller, rows.filter(**filters) if printable else rows.none(), order=("-seq",)
    )
    meanings = {event_type.name: event_type.meaning for event_type in types.registered()}
    context = {
        "filters": parameters,
        "filtered": bool(filters),
        "types": select_options(meanings, parameters["type"]),
        "results": results,
        "events": [(event, meanings.get(event.type, ""), _to_json(event)) for event in results.items],
        # Only the first page updates: new events appear there.
        "is_live": not request.GET.get("cursor"),
        "newest": results.items[0].seq if results.items else 0,
        "copies": _copies(request, results.items, filters),
    }
    return render(request, "console/records/events.html", context)


def _to_json(event: Event) -> str:
    return json.dumps(show_event(event), ensure_ascii=False, indent=2, default=str)


def _copies(request: HttpRequest, events: list[Event], filters: dict[str, str]) -> dict[str, str]:
    """Return commands that stream events from the newest one on the page."""
    newest = {"after": str(events[0].seq)} if events else {}
    parameters = {**newest, **filters}
    stream = curl(request, "GET", f"events{'?' if parameters else ''}{urlencode(parameters)}")
    options = [word for name, value in parameters.items() for word in (f"--{name.replace('_', '-')}", value)]
    return {
        "curl": stream.replace("curl ", "curl -N -H 'Accept: text/event-stream' ", 1),
        "cpctl": cpctl("events", "--watch", *options),
    }
