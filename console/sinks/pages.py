"""The list of sinks, and the page of one sink."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import yaml
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.filter_choices import select_options
from console.listing import Column, read_listing
from console.pages import load_page, page
from console.sinks.advice import Advice, advice
from console.sinks.lookup import readable_sink
from console.sinks.secrets import overlap_end
from console.sinks.sparkline import MOST_BARS, Sparkline, sparkline
from controlplane.delivery.deliveries import visible_deliveries
from controlplane.delivery.health import Backlog, RecentDelivery, backlogs, recent_deliveries
from controlplane.delivery.kinds import kind_named
from controlplane.delivery.models import Replay, Sink, SinkState
from controlplane.delivery.sinks import visible_sinks
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_LATEST = 10
_COLUMNS = (
    Column("name", "Name", "medium", order=("name", "id"), is_optional=False),
    Column("state", "State", "medium"),
    Column("destination", "Destination"),
    Column("deliveries", "Last deliveries", "medium"),
    Column("failures", "Failures", "tiny", is_number=True),
    Column("waiting", "Waiting", "medium"),
    Column("success", "Last success", "narrow"),
    Column("team", "Team", "narrow"),
)
_CREATION = timedelta(milliseconds=200)


@page
def sinks(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.SINK_READ)
    state = request.GET.get("state", "").strip()
    rows = visible_sinks(caller).annotate(now=Now())
    if state:
        rows = rows.filter(state=state if state.isprintable() else "")
    listing = read_listing(request, "sinks", "Event sinks", _COLUMNS)
    results = load_page(request, caller, rows, order=listing.order or ("-id",))
    ids = [sink.id for sink in results.items]
    recent, waiting = recent_deliveries(ids, each=MOST_BARS), backlogs(ids)
    context = {
        "listing": listing,
        "state": state,
        "states": select_options(SinkState.values, state),
        "results": results,
        "sinks": [_row(sink, recent.get(sink.id, []), waiting.get(sink.id)) for sink in results.items],
        "may_write": bool(caller.owners_for(Action.SINK_WRITE)),
        "copies": {
            "curl": curl(request, "GET", f"sinks{'?state=' if state else ''}{state}"),
            "cpctl": cpctl("sinks", "list", *(("--state", state) if state else ())),
        },
    }
    return render(request, "console/sinks/sinks.html", context)


@page
def sink(request: HttpRequest, caller: Caller, sink_id: UUID) -> HttpResponse:
    record = readable_sink(caller, sink_id)
    line = sparkline(recent_deliveries([record.id], each=MOST_BARS).get(record.id, []))
    may_write = caller.verdict(Action.SINK_WRITE, owner=record.team_id).allowed
    latest = visible_deliveries(caller).filter(sink=record).order_by("-id")[:_LATEST]
    context = {
        "sink": record,
        "advice": _advice(record, line),
        "line": line,
        "succeeded_at": _succeeded_at(record, line),
        "waiting": backlogs([record.id]).get(record.id),
        "filter": filter_text(record.filter),
        "replays": Replay.objects.filter(sink=record, ended_at=None).order_by("id"),
        "deliveries": latest,
        "may_write": may_write,
        "old_secret_until": overlap_end(record) if may_write else None,
        "actions": _actions(record) if may_write else (),
        "copies": {
            "curl": curl(request, "GET", f"sinks/{record.id}"),
            "cpctl": cpctl("sinks", "show", str(record.id)),
        },
    }
    return render(request, "console/sinks/sink.html", context)


def filter_text(document: dict[str, Any]) -> str:
    """Return the parts of a filter that say something, as YAML; empty if every event passes."""
    parts = {name: value for name, value in document.items() if value}
    return str(yaml.safe_dump(parts, sort_keys=False, allow_unicode=True)) if parts else ""


def _row(sink: Any, recent: list[RecentDelivery], backlog: Backlog | None) -> tuple[Any, ...]:
    line = sparkline(recent)
    return sink, line, backlog, _succeeded_at(sink, line)


def _succeeded_at(sink: Any, line: Sparkline) -> datetime | None:
    """Return the last success; None before the first, when the column has the creation of the sink."""
    last: datetime = sink.progress.last_success_at
    return last if line.bars and last - sink.created_at > _CREATION else None


def _advice(sink: Any, line: Sparkline) -> Advice:
    failures = sink.progress.failures
    return advice(sink.state, sink.reason, failures, attempts=len(line.bars), unsuccessful=line.unsuccessful)


def _actions(sink: Sink) -> tuple[tuple[str, str], ...]:
    """Return routes and labels of what can be done with the sink in its state."""
    kind = kind_named(sink.kind)
    rotate = (("sink-rotate-secret", "Rotate secret"),) if kind and kind.is_signed else ()
    switch = ("sink-pause", "Pause") if sink.state == SinkState.ACTIVE else ("sink-resume", "Resume")
    return (
        switch,
        ("sink-edit", "Edit"),
        ("sink-replay", "Replay events"),
        *rotate,
        ("sink-delete", "Delete"),
    )
