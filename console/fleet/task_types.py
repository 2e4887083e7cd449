"""Task types: which there are, and who serves one."""

from __future__ import annotations

from urllib.parse import quote

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.copying import curl
from console.pages import page, page_of
from controlplane.access.callers import Caller
from controlplane.access.roles import Action
from registry.models import ServedTaskType
from registry.task_types.serving import counted, serving


@page
def task_types(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    rows = ServedTaskType.objects.distinct("name")
    said = request.GET.get("q", "").strip()
    if said:
        rows = rows.filter(name__icontains=said) if said.isprintable() else rows.none()
    found = page_of(request, caller, rows, order=("name",))
    context = {
        "found": found,
        "said": said,
        "rows": sorted(counted([one.name for one in found.items]).values(), key=lambda one: one["name"]),
        "curl": curl(request, "GET", "task-types"),
    }
    return render(request, "console/fleet/task_types.html", context)


@page
def task_type(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    rows = serving(name).annotate(now=Now())
    context = {
        "name": name,
        "found": page_of(request, caller, rows, order=("version", "id")),
        "curl": curl(request, "GET", f"task-types/{quote(name, safe='')}"),
    }
    return render(request, "console/fleet/task_type.html", context)
