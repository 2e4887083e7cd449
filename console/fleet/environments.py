"""The environments page: agents by state and their service types, as a diagram and a table."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.fleet import topology
from console.fleet.serving import served_in
from console.pages import page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.environments.models import Environment
from registry.listing.counts import agent_counts
from registry.listing.versions import versions_in_use

_PAGE_SIZE = 20


@page
def environments(request: HttpRequest, caller: Caller) -> HttpResponse:
    """List environments. `?q=` part of the name; `?after=` last name of the previous page."""
    caller.require_for_some_owner(Action.AGENT_READ)
    query, after = (request.GET.get(name, "").strip() for name in ("q", "after"))
    counts = agent_counts(caller)
    matching = sorted(name for name in counts if query.lower() in name.lower() and name > after)
    names = matching[:_PAGE_SIZE]
    served = served_in(names, caller)
    page = [topology.Environment(name, counts[name], served.get(name, [])) for name in names]
    context = {
        "query": query,
        "filtered": bool(query or after),
        "environments": page,
        "picture": topology.picture(page),
        "width": topology.WIDTH,
        "next_after": names[-1] if len(matching) > _PAGE_SIZE else "",
        "engaged": set(Environment.objects.exclude(guard_engaged_at=None).values_list("name", flat=True)),
        "versions": versions_in_use(caller) if not after else [],
        "curl": curl(request, "GET", "agents:summary"),
        "cpctl": cpctl("agents", "summary"),
    }
    return render(request, "console/fleet/environments.html", context)
