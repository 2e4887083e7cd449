"""Pause, resume, delete and test a sink."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.pages import actor_of, page
from console.sinks.lookup import copies_of, url_of, writable_sink
from controlplane.delivery import sinks
from controlplane.delivery.deliveries import send_test
from controlplane.delivery.health import backlogs
from controlplane.delivery.models import Sink
from controlplane.endpoints.sinks.schemas import show_test
from controlplane.identity.callers import Caller

_REASON = Field("reason", "Reason", hint="Kept in the audit log.")


@page
def pause(request: HttpRequest, caller: Caller, sink_id: UUID) -> HttpResponse:
    sink = writable_sink(caller, sink_id)
    change = Change(
        f"Pause {sink.name}?",
        (
            "The receiver gets no events until the sink is resumed.",
            "The event log keeps its events. After the sink is resumed, it gets those that it has missed.",
        ),
        "Pause sink",
        url_of(sink),
        f"Paused {sink.name}.",
        (_REASON,),
        copies_of(request, sink, "pause"),
    )
    return confirm_change(
        request,
        change,
        lambda form: sinks.pause_sink(sink, actor=actor_of(caller, form.get("reason", ""))),
    )


@page
def resume(request: HttpRequest, caller: Caller, sink_id: UUID) -> HttpResponse:
    sink = writable_sink(caller, sink_id)
    change = Change(
        f"Resume {sink.name}?",
        (
            "The receiver gets the events that it has missed, in order, and then new ones.",
            f"Waiting deliveries: {_waiting(sink)}.",
        ),
        "Resume sink",
        url_of(sink),
        f"Resumed {sink.name}.",
        (_REASON,),
        copies_of(request, sink, "resume"),
    )
    return confirm_change(
        request,
        change,
        lambda form: sinks.resume_sink(sink, actor=actor_of(caller, form.get("reason", ""))),
    )


@page
def delete(request: HttpRequest, caller: Caller, sink_id: UUID) -> HttpResponse:
    sink = writable_sink(caller, sink_id)
    change = Change(
        f"Delete {sink.name}?",
        (
            f"Its deliveries are deleted too. Waiting deliveries: {_waiting(sink)}.",
            "Events stay in the event log. To stop the sink for a while, pause it.",
            "This cannot be undone.",
        ),
        "Delete sink",
        reverse("sinks"),
        f"Deleted {sink.name}.",
        (_REASON,),
        {
            "curl": curl(request, "DELETE", f"sinks/{sink.id}", version=sink.version),
            "cpctl": cpctl("sinks", "delete", str(sink.id)),
        },
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: sinks.delete_sink(
            sink, precondition=None, actor=actor_of(caller, form.get("reason", ""))
        ),
    )


@page
def test(request: HttpRequest, caller: Caller, sink_id: UUID) -> HttpResponse:
    """Send a test event, and show what the receiver answered. GET only shows the button."""
    sink = writable_sink(caller, sink_id)
    context = {"sink": sink, "copies": copies_of(request, sink, "test")}
    if request.method == "POST":
        context["answer"] = show_test(send_test(sink))
    return render(request, "console/sinks/test.html", context)


def _waiting(sink: Sink) -> int:
    backlog = backlogs([sink.id]).get(sink.id)
    return backlog.waiting if backlog else 0
