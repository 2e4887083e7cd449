"""Pages of task types: the list, and one with its publishing teams and serving agents."""

from __future__ import annotations

from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.agent_configs import document_status
from console.cpctl_commands import cpctl, curl
from console.pages import load_page, page
from controlplane.database.clock import database_now
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry import task_routing


@page
def task_types(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_READ)
    rows = task_routing.visible_names(caller)
    query = request.GET.get("q", "").strip()
    if query:
        rows = rows.filter(name__icontains=query) if query.isprintable() else rows.none()
    results = load_page(request, caller, rows, order=("name",))
    context = {
        "results": results,
        "query": query,
        "rows": task_routing.summaries([row.name for row in results.items], caller).values(),
        "curl": curl(request, "GET", "task-types"),
        "cpctl": cpctl("task-types", "list"),
    }
    return render(request, "console/fleet/task_types.html", context)


@page
def task_type(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_READ)
    publications, rows = task_routing.find_task_type(name, caller)
    context = {
        "name": name,
        "published": [
            (publication, document_status.reachable(publication.conditions)) for publication in publications
        ],
        "results": load_page(request, caller, rows, order=("version", "id")),
        "now": database_now(),
        "curl": curl(request, "GET", f"task-types/{quote(name, safe='')}"),
        "cpctl": cpctl("task-types", "show", name),
    }
    return render(request, "console/fleet/task_type.html", context)
