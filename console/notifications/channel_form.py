"""The form that creates or edits a notification channel. Credentials go in and never come back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.form_fields import FieldErrors, errors_by_name, fill
from console.forms import form_version, parse_form, read_form
from console.notifications import channel_input
from console.notifications.channel_actions import ROUTES, writable_channel
from console.notifications.rule_form import team_names
from console.pages import actor_of, page
from console.sinks.secrets import show_secret
from controlplane.access.teams.owning_team import choose_team
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.delivery.models import Sink
from controlplane.endpoints.notifications.channel_schemas import (
    NotificationChannelCreate,
    NotificationChannelWrite,
    terms_of,
)
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.notifications.channel_changes import change_channel, create_channel, kind_of_channel
from controlplane.notifications.channels import channel_names
from controlplane.preconditions import Precondition

_TEMPLATE = "console/notifications/channel_edit.html"
_NO_ERRORS = FieldErrors()


@page
def create(request: HttpRequest, caller: Caller) -> HttpResponse:
    """`?kind=`: the kind of the channel."""
    caller.require_for_some_owner(Action.NOTIFICATION_WRITE)
    kinds = channel_names()
    wanted = request.GET.get("kind", "")
    return _edit(request, caller, None, wanted if wanted in kinds else kinds[0])


@page
def edit(request: HttpRequest, caller: Caller, channel_id: UUID) -> HttpResponse:
    channel = writable_channel(caller, channel_id)
    return _edit(request, caller, channel, kind_of_channel(channel))


def _edit(request: HttpRequest, caller: Caller, channel: Sink | None, kind: str) -> HttpResponse:
    if request.method != "POST":
        form = channel_input.form_of(channel) if channel else {}
        return render(request, _TEMPLATE, _context(caller, channel, kind, form))
    names = channel_input.names_of(kind)
    try:
        return _save(request, caller, channel, kind, read_form(request))
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        typed = {name: request.POST.get(name, "") for name in names}
        context = _context(caller, channel, kind, typed, errors_by_name(error, names))
        return render(request, _TEMPLATE, {**context, "problem": error}, status=STATUS_BY_ERROR[type(error)])


def _save(
    request: HttpRequest, caller: Caller, channel: Sink | None, kind: str, values: Mapping[str, str]
) -> HttpResponse:
    actor, body = actor_of(caller, values.get("reason", "")), channel_input.body_of(kind, values)
    if channel is not None:
        terms = terms_of(parse_form(NotificationChannelWrite, body))
        precondition = Precondition(frozenset({form_version(values)}))
        change_channel(channel, terms, precondition=precondition, actor=actor)
        messages.success(request, f"Changed {terms.name}.")
        return redirect("notification-channel", channel.id)
    if slug := values.get("team", "").strip():
        body["team"] = slug
    parsed = parse_form(NotificationChannelCreate, body)
    team = choose_team(caller.owners_for(Action.NOTIFICATION_WRITE), parsed.get("team"))
    created, secret = create_channel(terms_of(parsed), team=team, actor=actor)
    messages.success(request, f"Created {created.name}.")
    if secret:
        return show_secret(request, created, secret, ROUTES)
    return redirect("notification-channel", created.id)


def _context(
    caller: Caller,
    channel: Sink | None,
    kind: str,
    form: Mapping[str, str],
    errors: FieldErrors = _NO_ERRORS,
) -> dict[str, Any]:
    own = channel_input.form_for(kind)
    identity = (channel_input.NAME, *(() if channel else (channel_input.TEAM,)))
    parts = {
        "identity": identity,
        "config": own.config,
        "credentials": own.credentials,
        "last": (channel_input.REASON,),
    }
    return {
        "channel": channel,
        "kind": kind,
        "kinds": channel_names(),
        "form": form,
        "errors": errors,
        "parts": {name: fill(inputs, form, errors.by_name) for name, inputs in parts.items()},
        "teams": () if channel else team_names(caller),
    }
