"""The page of an agent's reachability test, which asks again until the test is finished."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.pages import page
from controlplane.api.time_range import read_range
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.lookup import get_agent
from registry.dispatch.delivery.reachability_facts import check_reachability


@page
def reachability(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    """Show the outcome since `since`, the begin of the test; without it, a test begins."""
    caller.require_for_some_owner(Action.AGENT_READ)
    agent = get_agent(caller, agent_id)
    now: datetime = agent.now  # type: ignore[attr-defined]  # annotated
    begin = read_range({"since": request.GET.get("since", "")}).get("since", now)
    since = now - begin if isinstance(begin, timedelta) else begin
    context = {
        "agent": agent,
        "since": since,
        "now": now,
        "reachability": check_reachability(agent, since=since),
        "copies": {
            "curl": curl(request, "GET", f"agents/{agent.id}/reachability"),
            "cpctl": cpctl("agents", "test", agent.name),
        },
    }
    return render(request, "console/fleet/agent_reachability.html", context)
