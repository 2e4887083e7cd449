"""The agents page: a filtered, sorted and paged list."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from console.cpctl_commands import cpctl, curl
from console.filter_choices import select_options
from console.fleet import list_query
from console.fleet.counts import CHOICES, LATE
from console.fleet.silence import silence
from console.fleet.state_history import last_hours
from console.listing import read_listing
from console.pages import load_page, page
from console.stale_lists import may_be_stale
from controlplane.errors import InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.clock_skew import skew_ms
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.states import LIVE, SILENT
from registry.bulk_changes.decisions import BulkAction
from registry.listing import counts
from registry.providers.models import Provider


@page
@may_be_stale
def agents(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_READ)
    filters = list_query.read_filters(request.GET)
    by_environment = counts.agent_counts(caller)
    may_write = bool(caller.owners_for(Action.AGENT_WRITE))
    ticks = "ticked" if may_write else ""
    listing = read_listing(request, "agents", "Agents", list_query.COLUMNS, sort="name", ticks=ticks)
    context = {
        "listing": listing,
        "filters": filters,
        "filtered": any(filters.values()),
        "has_more": any(filters[name] for name in list_query.MORE_FILTERS),
        "states": select_options([*CHOICES, list_query.SILENT_STATES], filters["state"]),
        "chips": _chips(by_environment, filters),
        "environments": select_options(by_environment, filters["environment"]),
        "bulk_actions": _bulk_actions(filters) if may_write else [],
        "ticked_actions": [action.value for action in BulkAction],
        "silence": silence(caller),
        "copies": _copies(request, filters),
    }
    try:
        matching = list_query.matching_agents(filters, caller, order=listing.order)
        results = load_page(request, caller, matching, order=listing.order)
    except InvalidRequest as error:
        # Show the error with the form, so that only the selector must be corrected.
        return render(request, "console/fleet/agents.html", {**context, "problem": error}, status=422)
    if listing.shows("providers"):
        # All at once: the cell of a row reads its own.
        prefetch_related_objects(
            results.items, Prefetch("service_providers", Provider.objects.order_by("service_type", "name"))
        )
    hours = {}
    if results.items and listing.shows("last_hour"):
        hours = last_hours(results.items, caller, results.items[0].now)
    rows = [
        (
            agent,
            is_late(agent),
            skew_ms(agent.lease.reported_at, agent.lease.renewed_at),
            hours.get(str(agent.id)),
        )
        for agent in results.items
    ]
    return render(request, "console/fleet/agents.html", {**context, "agents": rows, "results": results})


def is_late(agent: Agent) -> bool:
    now = agent.now  # type: ignore[attr-defined]  # annotated
    policy, lease = liveness_policy(), agent.lease
    return agent.state in LIVE and policy.is_late(lease.renewed_at, now=now, lease_seconds=lease.set_seconds)


def _chips(by_environment: Any, filters: dict[str, str]) -> list[tuple[str, int, str]]:
    """Return state, count and query string for each state of the filtered environment."""
    environment = filters["environment"]
    selected = {environment: by_environment.get(environment, {})} if environment else by_environment
    totals = counts.total(selected)
    other_filters = {name: value for name, value in filters.items() if value and name != "state"}
    return [
        (state.value, count, urlencode({**other_filters, "state": state.value}))
        for state, count in totals.items()
        if count
    ]


def _bulk_actions(filters: dict[str, str]) -> list[tuple[str, str]]:
    """Return each bulk change and its query string. The API cannot select late agents."""
    query = urlencode({name: value for name, value in filters.items() if value})
    return [] if filters["state"] == LATE else [(action.value, query) for action in BulkAction]


def _copies(request: HttpRequest, filters: dict[str, str]) -> dict[str, str]:
    parameters = {name: value for name, value in filters.items() if value and name != "state"}
    state = filters["state"]
    if state:
        parameters |= _state_parameters(state)
    options = ("environment", "state", "since", "until")
    words = [word for name in options if filters[name] for word in (f"--{name}", filters[name])]
    return {
        "curl": curl(request, "GET", f"agents{'?' if parameters else ''}{urlencode(parameters)}"),
        # Only these are options of cpctl with the same names.
        "cpctl": cpctl("agents", "list", *words)
        if set(parameters) <= {"environment", "health_status", "since", "until"}
        else "",
    }


def _state_parameters(state: str) -> dict[str, str]:
    """Return the parameters of the API for a state of the form."""
    if state == LATE:
        return {"late": "true"}
    return {"health_status": ",".join(sorted(SILENT)) if state == list_query.SILENT_STATES else state}
