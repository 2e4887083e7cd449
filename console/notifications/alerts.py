"""Pages of alerts: inbox, one alert, acknowledge."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.filter_choices import select_options
from console.listing import Column, read_listing
from console.pages import actor_of, load_page, page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.notifications.alert_states import AlertState
from controlplane.notifications.alerts import acknowledge_alert, get_alert, visible_alerts

_REASON = Field("reason", "Reason", hint="Kept in the audit log.")

_COLUMNS = (
    Column("alert", "Alert", is_optional=False),
    Column("state", "State", "medium"),
    Column("severity", "Severity", "narrow"),
    Column("since", "Since", "medium"),
    Column("events", "Events", "tiny", is_number=True),
    Column("rule", "Rule", "medium"),
    Column("team", "Team", "narrow"),
)


@page
def alerts(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.NOTIFICATION_READ)
    state = request.GET.get("state", AlertState.FIRING.value)
    rows = visible_alerts(caller)
    if state:
        rows = rows.filter(state=state if state.isprintable() else "")
    results = load_page(request, caller, rows, order=("-id",))
    context = {
        "listing": read_listing(request, "alerts", "Alerts", _COLUMNS),
        "state": state,
        "states": select_options([known.value for known in AlertState], state),
        "alerts": results.items,
        "results": results,
        "copies": {
            "curl": curl(request, "GET", f"alerts{'?state=' if state else ''}{state}"),
            "cpctl": cpctl("notify", "alerts", *(["--state", state] if state else [])),
        },
    }
    return render(request, "console/notifications/alerts.html", context)


@page
def alert(request: HttpRequest, caller: Caller, alert_id: UUID) -> HttpResponse:
    row = get_alert(caller, alert_id)
    may_write = caller.verdict(Action.NOTIFICATION_WRITE, owner=row.rule.team_id).allowed
    context = {
        "alert": row,
        "may_acknowledge": may_write and row.state == AlertState.FIRING,
        "copies": {
            "curl": curl(request, "GET", f"alerts/{row.id}"),
            "cpctl": cpctl("notify", "alert", str(row.id)),
        },
    }
    return render(request, "console/notifications/alert.html", context)


@page
def acknowledge(request: HttpRequest, caller: Caller, alert_id: UUID) -> HttpResponse:
    row = get_alert(caller, alert_id, Action.NOTIFICATION_WRITE)
    change = Change(
        "Acknowledge this alert?",
        (row.title, "Its escalation stops. Slack and PagerDuty show that you look after it."),
        "Acknowledge alert",
        reverse("alert", args=[row.id]),
        "Acknowledged the alert.",
        (_REASON,),
        {
            "curl": curl(request, "POST", f"alerts/{row.id}:acknowledge"),
            "cpctl": cpctl("notify", "acknowledge", str(row.id)),
        },
    )
    return confirm_change(
        request,
        change,
        lambda form: acknowledge_alert(row, actor=actor_of(caller, form.get("reason", ""))),
    )
