"""The page of freezes, the pages that declare and end one, and the banner at a frozen scope."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console import forms
from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.listing import Column, read_listing
from console.overrides.form_input import segments_of
from console.pages import actor_of, load_page, page
from console.templatetags.parts import scope_url
from controlplane.database.clock import statement_now
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api.freezes import OverrideFreezeWrite
from overrides.freeze_models import OverrideFreeze
from overrides.freezes.changes import declare_freeze, end_freeze
from overrides.freezes.decisions import FreezeState, sentence, state_of
from overrides.freezes.storage import as_freeze, ended, find_freeze, visible

_FIELDS = (
    Field("starts_at", "Start (UTC)", "datetime-local", hint="Leave empty to start now."),
    Field("ends_at", "End (UTC)", "datetime-local", required=True),
    Field("reason", "Reason", hint="Shown to those whose change is refused.", required=True),
)

_COLUMNS = (
    Column("scope", "Scope", is_optional=False),
    Column("state", "State", "narrow"),
    Column("start", "Start", "medium"),
    Column("end", "End", "medium"),
    Column("reason", "Reason"),
    Column("declared_by", "Declared by", "narrow"),
    Column("action", "Action", "narrow", is_optional=False),
)
# How long a freeze in the copied command lasts at most.
_SAMPLE = timedelta(hours=12)


@page
def freezes(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_somewhere(Action.OVERRIDE_READ)
    shows_ended = request.GET.get("ended") == "1"
    now = statement_now()
    rows = OverrideFreeze.objects.filter(visible(caller))
    if not shows_ended:
        rows = rows.exclude(ended(now))
    results = load_page(request, caller, rows, order=("-id",))
    context = {
        "listing": read_listing(request, "freezes", "Freezes", _COLUMNS),
        "results": results,
        "freezes": [
            (row, state_of(as_freeze(row), now).value, caller.verdict(Action.FREEZE_WRITE, row.scope).allowed)
            for row in results.items
        ],
        "shows_ended": shows_ended,
        "now": now,
        "may_declare": caller.verdict(Action.FREEZE_WRITE).allowed,
        "curl": curl(request, "GET", "override-freezes"),
        "cpctl": cpctl("freezes", "list"),
    }
    return render(request, "console/overrides/freezes.html", context)


@page
def declare(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Declare a freeze of the scope in the URL."""
    scope = Scope(**segments_of(request.GET))
    caller.require(Action.FREEZE_WRITE, scope)
    change = Change(
        f"Freeze overrides at {scope}?",
        (
            "Overrides at this scope and below cannot change from the start until the end.",
            "Changes above this scope are not refused, although their values are inherited here.",
            "Callers with freeze.override at this scope can change overrides in spite of it, with a reason.",
        ),
        "Declare freeze",
        reverse("freezes"),
        "Freeze declared.",
        _FIELDS,
        {"curl": curl(request, "POST", "override-freezes", _sample(scope, statement_now()))},
    )

    def act(form: Mapping[str, str]) -> None:
        times = {name: forms.parse_time(form.get(name, ""), name) for name in ("starts_at", "ends_at")}
        body = {name: moment.isoformat() for name, moment in times.items() if moment}
        values = forms.parse_form(OverrideFreezeWrite, {**body, "reason": form.get("reason", "").strip()})
        declare_freeze(
            scope,
            starts_at=values.get("starts_at"),
            ends_at=values["ends_at"],
            reason=values["reason"],
            actor=actor_of(caller, values["reason"]),
        )

    return confirm_change(request, change, act)


def _sample(scope: Scope, now: datetime) -> dict[str, Any]:
    """Return a body of the API to adapt: a freeze of the next hours."""
    ends_at = (now + _SAMPLE).replace(minute=0, second=0, microsecond=0)
    return {"scope": _named(scope), "ends_at": ends_at.isoformat(), "reason": "Month end"}


@page
def end(request: HttpRequest, caller: Caller, freeze: UUID) -> HttpResponse:
    row = find_freeze(freeze, caller)
    caller.require(Action.FREEZE_WRITE, row.scope)
    change = Change(
        f"End the freeze of {row.scope}?",
        (f"{sentence(as_freeze(row))}.", "Overrides may change again at once."),
        "End freeze",
        reverse("freezes"),
        "Freeze ended.",
        (Field("reason", "Reason"),),
        {
            "curl": curl(request, "POST", f"override-freezes/{row.id}:end"),
            "cpctl": cpctl("freezes", "end", str(row.id)),
        },
    )

    def act(form: Mapping[str, str]) -> None:
        end_freeze(row.id, actor=actor_of(caller, form.get("reason", "")))

    return confirm_change(request, change, act)


def banner(caller: Caller, scope: Scope) -> dict[str, object]:
    """Return the context of the banner: the freezes over the scope, and a link to declare one."""
    now = statement_now()
    rows = [as_freeze(row) for row in OverrideFreeze.objects.covering(scope).exclude(ended(now))]
    rows.sort(key=lambda freeze: freeze.starts_at)
    may_declare = caller.verdict(Action.FREEZE_WRITE, scope).allowed
    return {
        "freezes": [(freeze, state_of(freeze, now) is FreezeState.ACTIVE) for freeze in rows],
        "declare_freeze_url": scope_url("freeze-declare", scope) if may_declare else "",
    }


def _named(scope: Scope) -> dict[str, str]:
    return {name: value for name, value in scope.segments.items() if value}
