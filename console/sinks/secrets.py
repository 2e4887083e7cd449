"""Signing secrets of a sink: rotate and revoke. A new secret is shown once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.forms import parse_form, parse_number
from console.pages import actor_of, page
from console.sinks.lookup import copies_of, url_of, writable_sink
from controlplane.delivery import sinks
from controlplane.delivery.models import Sink
from controlplane.delivery.sink_secrets import secrets_of
from controlplane.endpoints.sinks.schemas import MOST_OVERLAP, SecretRotation
from controlplane.errors import SecretsUnavailable
from controlplane.identity.callers import Caller

_REASON = Field("reason", "Reason", hint="Kept in the audit log.")
_MOST_HOURS = int(MOST_OVERLAP.total_seconds()) // 3600
_OVERLAP = Field(
    "overlap_hours",
    "Overlap (hours)",
    "number",
    value="24",
    hint=f"0 to {_MOST_HOURS}. With 0, receivers that have the old secret refuse requests now.",
)


@dataclass(frozen=True, slots=True)
class SecretRoutes:
    """Routes of the object whose secret is shown: its page, and its test. noun: what it is called."""

    page: str
    test: str
    noun: str
    test_button: str


SINK_ROUTES = SecretRoutes("sink", "sink-test", "sink", "Send test event")


@page
def rotate_secret(request: HttpRequest, caller: Caller, sink_id: UUID) -> HttpResponse:
    sink = writable_sink(caller, sink_id)
    copies = copies_of(request, sink, "rotate-secret", body={"overlap_hours": 24})
    return confirm_rotation(request, caller, sink, SINK_ROUTES, copies)


def confirm_rotation(
    request: HttpRequest, caller: Caller, sink: Sink, routes: SecretRoutes, copies: Mapping[str, str]
) -> HttpResponse:
    """Rotate the signing secret once confirmed, and show the new one. The caller may write to the sink."""
    change = Change(
        f"Rotate the signing secret of {sink.name}?",
        (
            "The new secret is shown once. Give it to the receiver before the overlap ends.",
            "Until then, each request has a signature by the new secret and by the old one.",
        ),
        "Rotate secret",
        reverse(routes.page, args=[sink.id]),
        f"Rotated the secret of {sink.name}.",
        (_OVERLAP, _REASON),
        copies,
    )
    created: list[str] = []

    def act(form: Mapping[str, str]) -> None:
        body = parse_form(SecretRotation, {"overlap_hours": parse_number(form.get("overlap_hours", ""))})
        overlap = timedelta(hours=body["overlap_hours"])
        actor = actor_of(caller, form.get("reason", ""))
        created.append(sinks.rotate_secret(sink, overlap=overlap, actor=actor))

    response = confirm_change(request, change, act)
    return show_secret(request, sink, created[0], routes) if created else response


@page
def revoke_old(request: HttpRequest, caller: Caller, sink_id: UUID) -> HttpResponse:
    sink = writable_sink(caller, sink_id)
    change = Change(
        f"Revoke the old secrets of {sink.name}?",
        (
            "Only the newest secret signs from now on.",
            "A receiver that has only an old secret refuses the events.",
        ),
        "Revoke old secrets",
        url_of(sink),
        f"Revoked the old secrets of {sink.name}.",
        (_REASON,),
        copies_of(request, sink, "revoke-old"),
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: sinks.revoke_old_secrets(sink, actor=actor_of(caller, form.get("reason", ""))),
    )


def show_secret(
    request: HttpRequest, sink: Sink, secret: str, routes: SecretRoutes = SINK_ROUTES
) -> HttpResponse:
    """Show a new secret, which no cache may keep."""
    context = {"sink": sink, "secret": secret, "routes": routes}
    response = render(request, "console/sinks/secret.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response


def overlap_end(sink: Sink) -> datetime | None:
    """Return until when old secrets sign; None if only one signs, or if they cannot be opened."""
    try:
        return max((old.ends_at for old in secrets_of(sink).signing if old.ends_at), default=None)
    except SecretsUnavailable:
        return None
