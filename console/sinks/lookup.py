"""Look up sinks for pages, with the commands that copy a page."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.http import HttpRequest
from django.urls import reverse

from console.cpctl_commands import cpctl, curl
from controlplane.delivery.models import Sink, SinkState
from controlplane.delivery.sinks import get_sink, visible_sinks
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_MOST_STOPPED = 5


def readable_sink(caller: Caller, sink_id: UUID) -> Any:
    """Return the sink with the database's time as `now`. Raises UnknownSink."""
    get_sink(caller, sink_id)
    return visible_sinks(caller).annotate(now=Now()).get(id=sink_id)


def writable_sink(caller: Caller, sink_id: UUID) -> Sink:
    """Raises UnknownSink, PermissionDenied."""
    return get_sink(caller, sink_id, Action.SINK_WRITE)


def stopped_sinks(caller: Caller) -> list[Sink]:
    """Return the caller's sinks that get no events although no person paused them, the newest first."""
    rows = visible_sinks(caller).exclude(state=SinkState.ACTIVE).exclude(reason="person")
    return list(rows.order_by("-id")[:_MOST_STOPPED])


def url_of(sink: Sink) -> str:
    return reverse("sink", args=[sink.id])


def copies_of(request: HttpRequest, sink: Sink, verb: str, *options: str, body: Any = None) -> dict[str, str]:
    """Return commands for `POST /sinks/{id}:verb`."""
    return {
        "curl": curl(request, "POST", f"sinks/{sink.id}:{verb}", body),
        "cpctl": cpctl("sinks", verb, str(sink.id), *options),
    }
