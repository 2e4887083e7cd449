"""The form that creates or edits a notification rule, with a preview over the last day."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from uuid import UUID
from zoneinfo import available_timezones

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.cpctl_commands import curl
from console.form_fields import FieldErrors, errors_by_name, fill
from console.forms import form_version, parse_form, read_form
from console.notifications import rule_input
from console.pages import actor_of, page
from controlplane.access.team_models import Team
from controlplane.access.teams.owning_team import choose_team
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.database.owned import of_owners
from controlplane.endpoints.notifications.schemas import (
    NotificationRuleCreate,
    NotificationRuleWrite,
    show_rehearsed,
    spec_from,
)
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.events import types
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.notifications.channel_changes import kind_of_channel, visible_channels
from controlplane.notifications.models import NotificationRule
from controlplane.notifications.previews import preview_rule
from controlplane.notifications.rule_changes import change_rule, create_rule, get_rule
from controlplane.preconditions import Precondition

_TEMPLATE = "console/notifications/rule_edit.html"
_MOST_OPTIONS = 1000
_NO_ERRORS = FieldErrors()


@page
def create(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.NOTIFICATION_WRITE)
    return _edit(request, caller, None, rule_input.EMPTY)


@page
def edit(request: HttpRequest, caller: Caller, rule_id: UUID) -> HttpResponse:
    rule = get_rule(caller, rule_id, Action.NOTIFICATION_WRITE)
    return _edit(request, caller, rule, rule_input.form_of(rule))


def _edit(
    request: HttpRequest, caller: Caller, rule: NotificationRule | None, form: Mapping[str, str]
) -> HttpResponse:
    if request.method != "POST":
        return render(request, _TEMPLATE, _context(caller, rule, form))
    typed = _typed(request)
    try:
        values = {**read_form(request), **{name: typed[name] for name in rule_input.LISTS}}
        if "save" in values:
            return _save(request, caller, rule, values)
        shown = _preview(request, caller, rule, values)
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        errors = errors_by_name(error, rule_input.NAMES)
        context = {**_context(caller, rule, typed, errors), "problem": error}
        return render(request, _TEMPLATE, context, status=STATUS_BY_ERROR[type(error)])
    return render(request, _TEMPLATE, {**_context(caller, rule, typed), **shown})


def _typed(request: HttpRequest) -> dict[str, str]:
    """Return what was typed. Inputs with several values are joined by commas."""
    single = {name: request.POST.get(name, "") for name in rule_input.NAMES}
    lists = {name: ", ".join(filter(None, request.POST.getlist(name))) for name in rule_input.LISTS}
    return {**single, **lists}


def _save(
    request: HttpRequest, caller: Caller, rule: NotificationRule | None, values: Mapping[str, str]
) -> HttpResponse:
    actor, body = actor_of(caller, values.get("reason", "")), rule_input.body_of(values)
    if rule is not None:
        spec = spec_from(parse_form(NotificationRuleWrite, body))
        precondition = Precondition(frozenset({form_version(values)}))
        change_rule(rule, spec, precondition=precondition, caller=caller, actor=actor)
        messages.success(request, f"Changed {spec.name}.")
        return redirect("notification-rule", rule.id)
    if slug := values.get("team", "").strip():
        body["team"] = slug
    parsed = parse_form(NotificationRuleCreate, body)
    team = choose_team(caller.owners_for(Action.NOTIFICATION_WRITE), parsed.get("team"))
    created = create_rule(spec_from(parsed), team=team, caller=caller, actor=actor)
    messages.success(request, f"Created {created.name}.")
    return redirect("notification-rule", created.id)


def _preview(
    request: HttpRequest, caller: Caller, rule: NotificationRule | None, values: Mapping[str, str]
) -> dict[str, Any]:
    caller.require_for_some_owner(Action.NOTIFICATION_READ)
    body = rule_input.body_of(values)
    # A rule without a name so far can be previewed too.
    named = {**body, "name": body["name"] or "preview"}
    rehearsed = preview_rule(caller, spec_from(parse_form(NotificationRuleWrite, named)))
    method, path = ("PUT", f"notification-rules/{rule.id}") if rule else ("POST", "notification-rules")
    return {"preview": show_rehearsed(rehearsed), "copies": {"curl": curl(request, method, path, body)}}


def _context(
    caller: Caller,
    rule: NotificationRule | None,
    form: Mapping[str, str],
    errors: FieldErrors = _NO_ERRORS,
) -> dict[str, Any]:
    parts = {
        "identity": (*rule_input.RULE, *(() if rule else (rule_input.TEAM,)), rule_input.ACTIVE),
        "when": rule_input.WHEN,
        "sending": rule_input.SENDING,
        "quiet": rule_input.QUIET,
        "text": rule_input.TEXT,
        "last": (rule_input.REASON,),
    }
    return {
        "rule": rule,
        "form": form,
        "errors": errors,
        "parts": {name: fill(inputs, form, errors.by_name) for name, inputs in parts.items()},
        "places": rule_input.channel_places(form),
        "channels": _channels(caller, form),
        "types": [event_type.name for event_type in types.registered()],
        "zones": _time_zones(),
        "teams": () if rule else team_names(caller),
    }


def team_names(caller: Caller) -> list[str]:
    """Return the teams that the caller could give a rule or a channel to."""
    owners = caller.owners_for(Action.NOTIFICATION_WRITE)
    teams = Team.objects.filter(of_owners(owners, "id")).order_by("slug")
    return list(teams.values_list("slug", flat=True)[:_MOST_OPTIONS])


@cache
def _time_zones() -> list[str]:
    """Return the names of time zones. Finding them walks a folder of the system."""
    return sorted(available_timezones())


def _channels(caller: Caller, form: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return ids and names of channels to send through, and those that are chosen already."""
    owners = caller.owners_for(Action.NOTIFICATION_SEND)
    rows = visible_channels(caller).filter(of_owners(owners, "team_id")).order_by("name", "id")
    options = {str(row.id): f"{row.name} ({kind_of_channel(row)})" for row in rows[:_MOST_OPTIONS]}
    # The form must not change a choice that the caller may not read.
    chosen = [place for place in rule_input.channel_places(form) if place and place not in options]
    return [*options.items(), *((place, "another channel") for place in chosen)]
