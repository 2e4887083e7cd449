"""Environments: how their agents are and what these serve, as a picture and as a table."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import curl
from console.fleet import topology
from console.fleet.serving import served_in
from console.pages import page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.environments.models import Environment
from registry.listing.counts import agent_counts

_MOST = 20


@page
def environments(request: HttpRequest, caller: Caller) -> HttpResponse:
    """`?q=` a part of the name, `?after=` the last name of the page before."""
    caller.require(Action.AGENT_READ)
    said, after = (request.GET.get(name, "").strip() for name in ("q", "after"))
    counts = agent_counts()
    fitting = sorted(name for name in counts if said.lower() in name.lower() and name > after)
    names = fitting[:_MOST]
    served = served_in(names)
    shown = [topology.Environment(name, counts[name], served.get(name, [])) for name in names]
    context = {
        "said": said,
        "filtered": bool(said or after),
        "environments": shown,
        "picture": topology.picture(shown),
        "width": topology.WIDTH,
        "next_after": names[-1] if len(fitting) > _MOST else "",
        "engaged": set(Environment.objects.exclude(guard_engaged_at=None).values_list("name", flat=True)),
        "curl": curl(request, "GET", "agents:summary"),
    }
    return render(request, "console/fleet/environments.html", context)
