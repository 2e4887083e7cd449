"""The deliveries of a sink, and the page of one delivery with its attempts."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.filter_choices import select_options
from console.pages import actor_of, load_page, page
from console.sinks.lookup import readable_sink
from controlplane.delivery import deliveries as delivery_operations
from controlplane.delivery.deliveries import get_delivery, visible_deliveries
from controlplane.delivery.models import Delivery, DeliveryAttempt, DeliveryState, Lane
from controlplane.delivery.sent_documents import sent_document
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_REASON = Field("reason", "Reason", hint="Kept in the audit log.")
_RETRIED = (DeliveryState.WAITING, DeliveryState.DEAD, DeliveryState.DISCARDED)
_DISCARDED = (DeliveryState.WAITING, DeliveryState.DEAD)


@page
def deliveries(request: HttpRequest, caller: Caller, sink_id: UUID) -> HttpResponse:
    sink = readable_sink(caller, sink_id)
    state = request.GET.get("state", "").strip()
    rows = visible_deliveries(caller).filter(sink=sink).annotate(now=Now())
    if state:
        rows = rows.filter(state=state if state.isprintable() else "")
    results = load_page(request, caller, rows, order=("-id",))
    context = {
        "sink": sink,
        "state": state,
        "states": select_options(DeliveryState.values, state),
        "results": results,
        "deliveries": results.items,
        "copies": {
            "curl": curl(request, "GET", f"sinks/{sink.id}/deliveries{'?state=' if state else ''}{state}"),
            "cpctl": cpctl("deliveries", "list", str(sink.id), *(("--state", state) if state else ())),
        },
    }
    return render(request, "console/sinks/deliveries.html", context)


@page
def delivery(request: HttpRequest, caller: Caller, delivery_id: UUID) -> HttpResponse:
    record: Any = get_delivery(caller, delivery_id)
    may_write = caller.verdict(Action.SINK_WRITE, owner=record.sink.team_id).allowed
    document = sent_document(record, caller)
    attempts = DeliveryAttempt.objects.filter(delivery=record).order_by("-id").annotate(now=Now())
    context = {
        "delivery": record,
        "before": record.seq - 1,
        "next_at": _next_at(record),
        "attempts": attempts,
        "document": json.dumps(json.loads(document), ensure_ascii=False, indent=2) if document else "",
        "size": len(document or b""),
        "may_retry": may_write and record.state in _RETRIED,
        "may_discard": may_write and record.state in _DISCARDED,
        "may_replay": may_write and record.state not in _RETRIED,
        "copies": {
            "curl": curl(request, "GET", f"deliveries/{record.id}"),
            "cpctl": cpctl("deliveries", "show", str(record.id)),
        },
    }
    return render(request, "console/sinks/delivery.html", context)


@page
def retry(request: HttpRequest, caller: Caller, delivery_id: UUID) -> HttpResponse:
    record = _writable(caller, delivery_id)
    change = Change(
        "Redeliver this event now?",
        (
            f"{record.type}, number {record.seq}, is sent to {record.sink.name} now, with its old id.",
            "If the attempt fails, the usual schedule of attempts begins again.",
        ),
        "Redeliver event",
        _url(record),
        "Queued the delivery.",
        (_REASON,),
        _copies(request, record, "retry"),
    )
    return confirm_change(
        request,
        change,
        lambda form: delivery_operations.retry(record, actor=actor_of(caller, form.get("reason", ""))),
    )


@page
def discard(request: HttpRequest, caller: Caller, delivery_id: UUID) -> HttpResponse:
    record = _writable(caller, delivery_id)
    change = Change(
        "Discard this delivery?",
        (
            f"{record.type}, number {record.seq}, is not sent to {record.sink.name} any more.",
            f"The next event of {record.key} follows.",
            "The delivery stays readable and can be redelivered.",
        ),
        "Discard delivery",
        _url(record),
        "Discarded the delivery.",
        (_REASON,),
        _copies(request, record, "discard"),
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: delivery_operations.discard(record, actor=actor_of(caller, form.get("reason", ""))),
    )


def _writable(caller: Caller, delivery_id: UUID) -> Delivery:
    return get_delivery(caller, delivery_id, Action.SINK_WRITE)


def _next_at(record: Delivery) -> datetime | None:
    """Return when the next delivery of its object is due; None if it does not wait."""
    if record.state != DeliveryState.WAITING:
        return None
    lanes = Lane.objects.filter(sink=record.sink_id, key=record.key, replay=record.replay)
    return lanes.values_list("next_at", flat=True).first()


def _url(record: Delivery) -> str:
    return reverse("delivery", args=[record.id])


def _copies(request: HttpRequest, record: Delivery, verb: str) -> dict[str, str]:
    return {
        "curl": curl(request, "POST", f"deliveries/{record.id}:{verb}"),
        "cpctl": cpctl("deliveries", verb, str(record.id)),
    }
