"""Task types: which there are, who publishes one, and which agents serve it."""

from __future__ import annotations

from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.agent_configs import document_status
from console.cpctl_commands import curl
from console.pages import page, page_of
from controlplane.database.clock import database_now
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry import task_routing


@page
def task_types(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    rows = task_routing.names_seen_by(caller)
    said = request.GET.get("q", "").strip()
    if said:
        rows = rows.filter(name__icontains=said) if said.isprintable() else rows.none()
    found = page_of(request, caller, rows, order=("name",))
    context = {
        "found": found,
        "said": said,
        "rows": task_routing.summaries([one.name for one in found.items], caller).values(),
        "curl": curl(request, "GET", "task-types"),
    }
    return render(request, "console/fleet/task_types.html", context)


@page
def task_type(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    publications, rows = task_routing.find(name, caller)
    context = {
        "name": name,
        "published": [(one, document_status.reachable(one.conditions)) for one in publications],
        "found": page_of(request, caller, rows, order=("version", "id")),
        "now": database_now(),
        "curl": curl(request, "GET", f"task-types/{quote(name, safe='')}"),
    }
    return render(request, "console/fleet/task_type.html", context)
