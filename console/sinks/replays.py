"""The page that sends events of the past to a sink once more: first counted, then confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.cpctl_commands import cpctl, curl
from console.forms import parse_form, parse_number, parse_time, read_form, split_words
from console.pages import actor_of, page
from console.sinks.lookup import url_of, writable_sink
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.api.time_range import newer_than
from controlplane.delivery.models import Sink
from controlplane.delivery.replay_plan import ReplayPlan, plan_replay
from controlplane.delivery.replays import MOST_EVENTS, number_before, start_replay
from controlplane.endpoints.sinks.schemas import ReplayWrite
from controlplane.errors import ControlplaneError, FieldError, InvalidRequest, PermissionDenied
from controlplane.identity.callers import Caller

_TEMPLATE = "console/sinks/replay.html"
_FIELDS = ("since", "after", "until", "types", "reason")


@page
def replay(request: HttpRequest, caller: Caller, sink_id: UUID) -> HttpResponse:
    """`?after=` and `?until=`: event numbers that the form begins with."""
    sink = writable_sink(caller, sink_id)
    source = request.POST if request.method == "POST" else request.GET
    context: dict[str, Any] = {"sink": sink, "form": {name: source.get(name, "") for name in _FIELDS}}
    if request.method != "POST":
        return render(request, _TEMPLATE, context)
    try:
        form = read_form(request)
        body = parse_form(ReplayWrite, _body(form))
        if "start" in form:
            return _start(request, caller, sink, body, form.get("reason", ""))
        plan = plan_replay(
            sink, after=body["after_seq"], until=body.get("until_seq"), types=body.get("types", [])
        )
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        return render(request, _TEMPLATE, {**context, "problem": error}, status=STATUS_BY_ERROR[type(error)])
    copies = _copies(request, sink, plan, body.get("types", []))
    return render(request, _TEMPLATE, {**context, "plan": plan, "most": f"{MOST_EVENTS:,}", "copies": copies})


def _body(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of the API's request. Raises InvalidRequest."""
    since, after = parse_time(form.get("since", ""), "since"), form.get("after", "").strip()
    if bool(since) == bool(after):
        message = "Set either a time or an event number from which to replay."
        raise InvalidRequest(message, errors=[FieldError("/since", "required", message)])
    body: dict[str, Any] = {"after_seq": number_before(newer_than(since)) if since else parse_number(after)}
    if until := form.get("until", "").strip():
        body["until_seq"] = parse_number(until)
    return {**body, "types": split_words(form.get("types", ""))}


def _start(
    request: HttpRequest, caller: Caller, sink: Sink, body: dict[str, Any], reason: str
) -> HttpResponse:
    started = start_replay(
        sink,
        after=body["after_seq"],
        until=body.get("until_seq"),
        types=body.get("types", []),
        actor=actor_of(caller, reason),
    )
    text = f"Replaying events {started.cursor_seq + 1} to {started.until_seq} to {sink.name}."
    messages.success(request, text)
    return redirect(url_of(sink))


def _copies(request: HttpRequest, sink: Sink, plan: ReplayPlan, types: list[str]) -> dict[str, str]:
    body = {"after_seq": plan.after, "until_seq": plan.until, "types": types}
    words = [word for name in types for word in ("--type", name)]
    limits = ("--after", str(plan.after), "--until", str(plan.until))
    return {
        "curl": curl(request, "POST", f"sinks/{sink.id}:replay", body),
        "cpctl": cpctl("sinks", "replay", str(sink.id), *limits, *words),
    }
