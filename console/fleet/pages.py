"""Agents as a list."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.choices import offered
from console.fleet import counts
from console.pages import page
from controlplane.access.callers import Caller
from controlplane.access.roles import Action
from registry.agents.policies import liveness_policy
from registry.agents.states import LIVE
from registry.models import Agent

_SHOWN_AGENTS = 200


@page
def agents(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    filters = {name: request.GET.get(name, "") for name in ("state", "environment")}
    found = list(counts.matching(**filters)[: _SHOWN_AGENTS + 1])
    context = {
        "agents": [(agent, _is_late(agent)) for agent in found[:_SHOWN_AGENTS]],
        "more": len(found) > _SHOWN_AGENTS,
        "shown": _SHOWN_AGENTS,
        "filters": filters,
        "filtered": any(filters.values()),
        "states": offered(counts.CHOICES, filters["state"]),
        "environments": offered(_environments(), filters["environment"]),
    }
    return render(request, "console/fleet/agents.html", context)


def _environments() -> list[str]:
    rows = Agent.objects.order_by("environment").values_list("environment", flat=True)
    return list(rows.distinct()[:200])


def _is_late(agent: Agent) -> bool:
    now = agent.now  # type: ignore[attr-defined]  # annotated
    return agent.state in LIVE and liveness_policy().is_late(agent.lease.renewed_at, now=now)
