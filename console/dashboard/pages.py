"""The dashboard, and its part that a browser loads again when something happens."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.dashboard import checks, fleet_checks, odd_agents, silent_agents, timeline
from console.dashboard.activity import read_activity
from console.dashboard.demo_card import demo_stops
from console.dashboard.findings import report
from console.dashboard.first_steps import FirstStep, first_steps
from console.dashboard.fleet import FleetReading, affected_task_types, latest_silent, read_fleet
from console.dashboard.timeline import TimeRange
from console.pages import is_part, page
from controlplane.database.clock import database_now
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.models import Override, Project

_MOST_CHANGES = 10
_MOST_PLACES = 8
_MOST_AGENTS = 5


@page
def dashboard(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Show the dashboard. `?since=`: 15m, 1h or 24h."""
    if not caller.grants:
        # An empty page would suggest that nothing has happened.
        caller.require(Action.EVENT_READ)
    period, now = timeline.find_range(request.GET.get("since", "")), database_now()
    begin = now - period.length
    reading = read_fleet(caller, begin) if caller.owners_for(Action.AGENT_READ) else None
    context = {
        "now": now,
        "period": period,
        "periods": timeline.RANGES,
        "report": _report(caller, reading, period, now),
        **_activity(caller, period, begin),
        **_places(caller, reading, begin),
        "first_steps": _first_steps(caller, reading),
        "may_read_status": caller.verdict(Action.METRICS_READ).allowed,
        "may_audit": bool(caller.owners_for(Action.AUDIT_READ) or caller.scopes_for(Action.AUDIT_READ)),
    }
    if not is_part(request):
        context["demo_stops"] = demo_stops(request)
    template = "console/dashboard/now.html" if is_part(request) else "console/dashboard/page.html"
    return render(request, template, context)


def _report(caller: Caller, reading: FleetReading | None, period: TimeRange, now: datetime) -> Any:
    return report(
        (
            fleet_checks.check_silence(reading, period),
            fleet_checks.check_sweep(caller),
            odd_agents.check_odd_agents(caller, now - period.length, now),
            checks.check_agent_configs(caller),
            checks.check_overrides(caller),
            checks.check_sinks(caller),
            checks.check_alerts(caller),
        )
    )


def _activity(caller: Caller, period: TimeRange, begin: datetime) -> dict[str, Any]:
    activity = read_activity(caller, period, begin, most_changes=_MOST_CHANGES)
    return {
        "lanes": activity.rows,
        "steps": timeline.busy_steps(activity.rows),
        "ticks": timeline.ticks(period),
        "width": timeline.WIDTH,
        "height": timeline.HEIGHT,
        "counted_from": activity.counted_from,
        "changes": activity.changes,
    }


def _places(caller: Caller, reading: FleetReading | None, begin: datetime) -> dict[str, Any]:
    if reading is None:
        return {}
    places = silent_agents.most_affected(reading.fleet, _MOST_PLACES)
    is_silent = bool(reading.fleet.silent)
    return {
        "agents_by_state": {state.value: count for state, count in reading.by_state.items()},
        "places": places,
        "more_places": len(silent_agents.most_affected(reading.fleet, len(reading.fleet.places)))
        - len(places),
        "task_types": affected_task_types(caller, _MOST_PLACES) if is_silent else [],
        "latest_silent": latest_silent(caller, begin, _MOST_AGENTS) if reading.fleet.recent else [],
    }


def _first_steps(caller: Caller, reading: FleetReading | None) -> list[FirstStep]:
    """Return the steps of an installation with little in it, for those who may take them."""
    if reading is None or not caller.verdict(Action.PROJECT_WRITE).allowed:
        return []
    return first_steps(
        has_projects=Project.objects.exists(),
        has_overrides=Override.objects.exists(),
        has_agents=any(reading.by_state.values()),
    )
