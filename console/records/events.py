"""Events: a live tail of what happens, by kind and object."""

from __future__ import annotations

import json

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from console.cpctl_commands import cpctl, curl
from console.filter_choices import offered
from console.pages import page, page_of
from controlplane.endpoints.events.schemas import show_event
from controlplane.events import log, types
from controlplane.events.models import Event
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_NAMES = ("type", "object_type", "object_id")


@page
def events(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_somewhere(Action.EVENT_READ)
    log.number_committed()
    asked = {name: request.GET.get(name, "").strip() for name in _NAMES}
    filters = {name: value for name, value in asked.items() if value}
    rows = visible_events(caller).exclude(seq=None).annotate(now=Now())
    known = all(value.isprintable() for value in filters.values())
    found = page_of(request, caller, rows.filter(**filters) if known else rows.none(), order=("-seq",))
    meanings = {one.name: one.meaning for one in types.registered()}
    context = {
        "asked": asked,
        "filtered": bool(filters),
        "types": offered(meanings, asked["type"]),
        "found": found,
        "events": [(one, meanings.get(one.type, ""), _whole(one)) for one in found.items],
        # An older page stands still: what is new comes on the first one.
        "is_live": not request.GET.get("cursor"),
        "newest": found.items[0].seq if found.items else 0,
        "copies": _copies(request, found.items, filters),
    }
    return render(request, "console/records/events.html", context)


def _whole(event: Event) -> str:
    return json.dumps(show_event(event), ensure_ascii=False, indent=2, default=str)


def _copies(request: HttpRequest, shown: list[Event], filters: dict[str, str]) -> dict[str, str]:
    """Streams that go on where the page ends: nothing is missed between the two."""
    newest = {"after": str(shown[0].seq)} if shown else {}
    told = {**newest, **filters}
    stream = curl(request, "GET", f"events{'?' if told else ''}{urlencode(told)}")
    options = [word for name, value in told.items() for word in (f"--{name.replace('_', '-')}", value)]
    return {
        "curl": stream.replace("curl ", "curl -N -H 'Accept: text/event-stream' ", 1),
        "cpctl": cpctl("events", "--watch", *options),
    }
