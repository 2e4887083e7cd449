"""The form that creates or edits a sink, with a preview of its filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.cpctl_commands import cpctl, curl
from console.event_filters import INPUTS, filter_of
from console.form_fields import fill
from console.forms import form_version, parse_form, parse_number, read_form
from console.pages import actor_of, page
from console.sinks.form_input import EMPTY, FIELDS, body_of, form_of
from console.sinks.lookup import url_of, writable_sink
from console.sinks.secrets import show_secret
from controlplane.access.team_models import Team
from controlplane.access.teams.owning_team import choose_team
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.database.owned import of_owners
from controlplane.delivery import sinks
from controlplane.delivery.deliveries import preview
from controlplane.delivery.filters import filter_from
from controlplane.delivery.models import Ordering, Sink
from controlplane.delivery.sink_terms import WEBHOOK
from controlplane.endpoints.sinks.schemas import (
    FLAVOURS,
    KINDS,
    FilterPreviewWrite,
    SinkCreate,
    SinkWrite,
    show_previewed,
    terms_of,
)
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.events import types
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition

_TEMPLATE = "console/sinks/edit.html"
_PREVIEWED = 20
_MOST_TEAMS = 1000


@page
def create(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.SINK_WRITE)
    return _edit(request, caller, None, {**dict.fromkeys(FIELDS, ""), **EMPTY})


@page
def edit(request: HttpRequest, caller: Caller, sink_id: UUID) -> HttpResponse:
    sink = writable_sink(caller, sink_id)
    return _edit(request, caller, sink, form_of(sink))


def _edit(request: HttpRequest, caller: Caller, sink: Sink | None, form: Mapping[str, str]) -> HttpResponse:
    if request.method != "POST":
        return render(request, _TEMPLATE, _context(request, caller, sink, form))
    context = _context(request, caller, sink, {name: request.POST.get(name, "") for name in FIELDS})
    try:
        values = read_form(request)
        if "save" in values:
            return _save(request, caller, sink, values)
        context |= _preview(request, caller, sink, values)
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        return render(request, _TEMPLATE, {**context, "problem": error}, status=STATUS_BY_ERROR[type(error)])
    return render(request, _TEMPLATE, context)


def _context(
    request: HttpRequest, caller: Caller, sink: Sink | None, form: Mapping[str, str]
) -> dict[str, Any]:
    teams = Team.objects.filter(of_owners(caller.owners_for(Action.SINK_WRITE), "id")).order_by("slug")
    return {
        "sink": sink,
        "form": form,
        "filter_inputs": fill(INPUTS, form, {}),
        "kinds": [kind for kind, _ in KINDS],
        "is_webhook": (form["kind"] or WEBHOOK) == WEBHOOK,
        "orderings": Ordering.values,
        "flavours": [flavour for flavour, _ in FLAVOURS],
        "types": [event_type.name for event_type in types.registered()],
        "teams": teams.values_list("slug", flat=True)[:_MOST_TEAMS] if sink is None else (),
    }


def _preview(
    request: HttpRequest, caller: Caller, sink: Sink | None, values: Mapping[str, str]
) -> dict[str, Any]:
    document = parse_form(FilterPreviewWrite, {"filter": filter_of(values)})["filter"]
    sink_filter = filter_from(document)
    sink_filter.check()
    passing = preview(caller, sink_filter)
    body = body_of(values)
    return {
        "preview": passing,
        "events": [show_previewed(event) for event in passing.matching[:_PREVIEWED]],
        "copies": _copies(request, sink, body),
    }


def _save(request: HttpRequest, caller: Caller, sink: Sink | None, values: Mapping[str, str]) -> HttpResponse:
    actor = actor_of(caller, values.get("reason", ""))
    if sink is not None:
        terms = terms_of(parse_form(SinkWrite, body_of(values)))
        precondition = Precondition(frozenset({form_version(values)}))
        sinks.change_sink(sink, terms, precondition=precondition, actor=actor)
        messages.success(request, f"Changed {terms.name}.")
        return redirect(url_of(sink))
    body = parse_form(SinkCreate, {**body_of(values), **_beginning(values)})
    created, secret = sinks.create_sink(
        terms_of(body),
        team=choose_team(caller.owners_for(Action.SINK_WRITE), body.get("team")),
        actor=actor,
        after_seq=body.get("after"),
    )
    messages.success(request, f"Created {created.name}.")
    return show_secret(request, created, secret) if secret else redirect(url_of(created))


def _beginning(values: Mapping[str, str]) -> dict[str, Any]:
    """Return what only a new sink has: its team, and from where it gets events."""
    team, after = values.get("team", "").strip(), values.get("after", "").strip()
    return {**({"team": team} if team else {}), **({"after": parse_number(after)} if after else {})}


def _copies(request: HttpRequest, sink: Sink | None, body: dict[str, Any]) -> dict[str, str]:
    if sink is not None:
        return {"curl": curl(request, "PUT", f"sinks/{sink.id}", body, version=sink.version)}
    words = [word for name in body["filter"].get("types", ()) for word in ("--type", name)]
    # cpctl's options cannot say more; a file can.
    is_plain = body["kind"] == WEBHOOK and not body["filter"].keys() - {"types"}
    command = cpctl("sinks", "create", body["name"], "--url", body["config"].get("url", ""), *words)
    return {"curl": curl(request, "POST", "sinks", body), "cpctl": command if is_plain else ""}
