"""The resources page: a filtered and paged list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from console.cpctl_commands import cpctl, curl
from console.dispatch.lookup import require_for_some
from console.filter_choices import domains, projects, select_options
from console.listing import Column, read_listing
from console.pages import load_page, page
from controlplane.errors import InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.models import ResourceRow
from registry.dispatch.resources.search import search_resources

FILTERS = ("q", "state", "service_type", "project", "domain", "agent", "team", "selector")
_TEMPLATE = "console/dispatch/resources.html"
_COLUMNS = (
    Column("id", "Id", "medium", order=("id",), is_optional=False),
    Column("state", "State", "medium"),
    Column("since", "Since", "narrow"),
    Column("reason", "Reason"),
    Column("service_type", "Service type", "narrow"),
    Column("agent", "Agent", "narrow"),
    Column("project", "Project", "narrow"),
    Column("team", "Team", "narrow", is_extra=True),
    Column("labels", "Labels", is_extra=True),
)
_STATES = [state.value for state in ResourceState]


@page
def resources(request: HttpRequest, caller: Caller) -> HttpResponse:
    require_for_some(caller, Action.RESOURCE_READ)
    filters = {name: request.GET.get(name, "").strip() for name in FILTERS}
    listing = read_listing(request, "resources", "Resources", _COLUMNS, sort="id")
    context = {
        "listing": listing,
        "filters": filters,
        "filtered": any(filters.values()),
        "states": select_options(_STATES, filters["state"]),
        "projects": select_options(projects(caller), filters["project"]),
        "domains": select_options(domains(), filters["domain"]),
        "may_request": any(Action.RESOURCE_WRITE in grant.actions for grant in caller.grants),
        "copies": _copies(request, filters),
    }
    try:
        rows = matching_resources(filters, caller)
        results = load_page(request, caller, rows, order=listing.order)
    except InvalidRequest as error:
        return render(request, _TEMPLATE, {**context, "problem": error}, status=422)
    return render(request, _TEMPLATE, {**context, "resources": results.items, "results": results})


def matching_resources(filters: Mapping[str, str], caller: Caller) -> Any:
    """Return the caller's resources that match all filters that are not empty. Raises InvalidRequest."""
    if not all(value.isprintable() for value in filters.values()):
        # Postgres rejects NUL in text, and no id contains unprintable characters.
        return ResourceRow.objects.none()
    query: dict[str, Any] = {name: value for name, value in filters.items() if value and name != "q"}
    if "state" in query:
        query["state"] = [query["state"]]
    rows = search_resources(query, caller).defer("spec", "output").annotate(now=Now())
    # By its beginning, which the index of the id finds.
    return rows.filter(id__startswith=filters["q"]) if filters.get("q") else rows


def _copies(request: HttpRequest, filters: Mapping[str, str]) -> dict[str, str]:
    parameters = {name: value for name, value in filters.items() if value and name != "q"}
    words = [word for name in ("state", "project") if filters[name] for word in (f"--{name}", filters[name])]
    return {
        "curl": curl(request, "GET", f"resources{'?' if parameters else ''}{urlencode(parameters)}"),
        "cpctl": cpctl("resources", "list", *words) if set(parameters) <= {"state", "project"} else "",
    }
