"""Agents as a list: a page of rows at a time, however many there are."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from console.cpctl_commands import cpctl, curl
from console.filter_choices import offered
from console.fleet import list_query
from console.fleet.counts import CHOICES, LATE
from console.fleet.silence import silence
from console.pages import page, page_of
from controlplane.errors import InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.states import LIVE
from registry.listing import counts


@page
def agents(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    asked = {name: request.GET.get(name, "").strip() for name in list_query.NAMES}
    by_environment = counts.agent_counts()
    context = {
        "asked": asked,
        "filtered": any(value for name, value in asked.items() if name != "sort"),
        "states": offered(CHOICES, asked["state"]),
        "chips": _chips(by_environment, asked),
        "environments": offered(by_environment, asked["environment"]),
        "sorts": list_query.SORTS,
        "silence": silence(),
        "copies": _copies(request, asked),
    }
    try:
        found = page_of(request, caller, list_query.fitting(asked), order=list_query.order(asked))
    except InvalidRequest as error:
        # With the form: only the selector has to be written anew.
        return render(request, "console/fleet/agents.html", {**context, "problem": error}, status=422)
    rows = [(agent, is_late(agent)) for agent in found.items]
    return render(request, "console/fleet/agents.html", {**context, "agents": rows, "found": found})


def is_late(agent: Agent) -> bool:
    now = agent.now  # type: ignore[attr-defined]  # annotated
    policy, lease = liveness_policy(), agent.lease
    return agent.state in LIVE and policy.is_late(lease.renewed_at, now=now, lease_seconds=lease.set_seconds)


def _chips(by_environment: Any, asked: dict[str, str]) -> list[tuple[str, int, str]]:
    """How many are in each state, of the environment that is asked for; and where one sees them."""
    here = asked["environment"]
    chosen = {here: by_environment.get(here, {})} if here else by_environment
    totals = counts.total(chosen)
    kept = {name: value for name, value in asked.items() if value and name != "state"}
    return [
        (state.value, count, urlencode({**kept, "state": state.value}))
        for state, count in totals.items()
        if count
    ]


def _copies(request: HttpRequest, asked: dict[str, str]) -> dict[str, str]:
    said = {name: value for name, value in asked.items() if value and name != "state"}
    state = asked["state"]
    if state:
        said |= {"late": "true"} if state == LATE else {"health_status": state}
    words = [word for name in ("environment", "state") if asked[name] for word in (f"--{name}", asked[name])]
    return {
        "curl": curl(request, "GET", f"agents{'?' if said else ''}{urlencode(said)}"),
        # Its command line knows these two filters alone.
        "cpctl": cpctl("agents", "list", *words) if set(said) <= {"environment", "health_status"} else "",
    }
