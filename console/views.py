"""Pages: doors to the same functions that the API calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from controlplane.access.callers import Caller, caller_for
from controlplane.access.models import Principal
from controlplane.access.roles import Action
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.scopes import SEGMENTS, Scope
from overrides.effective import Effective, effective_attributes
from overrides.models import Domain, Override, Project
from overrides.resolution import Leaf, Removed
from registry.agents.policies import liveness_policy
from registry.agents.states import LIVE, State
from registry.models import Agent

_SHOWN_AGENTS = 200
_RECENT = 10
Page = Callable[[HttpRequest, Caller], HttpResponse]


def page(view: Page) -> Callable[[HttpRequest], HttpResponse]:
    """Log in first; what is not allowed gets a page that says so."""

    @wraps(view)
    def run(request: HttpRequest) -> HttpResponse:
        assert isinstance(request.user, Principal)
        try:
            return view(request, caller_for(request.user))
        except PermissionDenied as error:
            return render(request, "console/denied.html", {"reason": error.detail}, status=403)

    return login_required(run)


@page
def dashboard(request: HttpRequest, caller: Caller) -> HttpResponse:
    log.number_committed()
    events = Event.objects.within(caller.scopes_for(Action.EVENT_READ)).exclude(seq=None)
    changed = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    sees_agents = caller.verdict(Action.AGENT_READ).allowed
    counts = dict(Agent.objects.values_list("state").annotate(count=Count("id"))) if sees_agents else {}
    context = {
        "states": [(state.value, counts.get(state.value, 0)) for state in State] if sees_agents else [],
        "events": events.order_by("-seq")[:_RECENT],
        "overrides": changed.order_by("-revision")[:_RECENT],
    }
    return render(request, "console/dashboard.html", context)


@page
def overrides(request: HttpRequest, caller: Caller) -> HttpResponse:
    asked = {name: request.GET.get(name, "").strip() for name in SEGMENTS}
    context: dict[str, Any] = {
        "asked": asked,
        "projects": Project.objects.order_by("id")[:1000],
        "domains": Domain.objects.order_by("id"),
    }
    try:
        scope = Scope(**asked)
        caller.require(Action.OVERRIDE_READ, scope)
        context |= {"scope": scope, "types": _shown(effective_attributes(scope))}
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        context["problem"] = error
    return render(request, "console/overrides.html", context, status=422 if "problem" in context else 200)


@page
def agents(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    filters = {name: request.GET[name] for name in ("state", "environment") if request.GET.get(name)}
    found = list(Agent.objects.shown().filter(**filters).order_by("name")[: _SHOWN_AGENTS + 1])
    policy = liveness_policy()
    context = {
        "agents": [
            (agent, agent.state in LIVE and policy.is_late(agent.lease.renewed_at, now=agent.now))  # type: ignore[attr-defined]  # annotated
            for agent in found[:_SHOWN_AGENTS]
        ],
        "more": len(found) > _SHOWN_AGENTS,
        "shown": _SHOWN_AGENTS,
        "filters": filters,
        "states": [state.value for state in State],
        "environments": Agent.objects.order_by("environment")
        .values_list("environment", flat=True)
        .distinct()[:200],
    }
    return render(request, "console/agents.html", context)


def _shown(effective: Effective) -> list[dict[str, Any]]:
    """For the template: pointers in words, values as JSON."""
    return [
        {
            "type": one.resource_type,
            "leaves": [_row(leaf.pointer, _plain(leaf.value), leaf) for leaf in one.resolved.leaves],
            "removed": [_row(gone.pointer, "", gone) for gone in one.resolved.removed],
        }
        for one in effective.types
    ]


def _row(pointer: str, value: str, found: Leaf | Removed) -> dict[str, Any]:
    return {
        "name": pointer.strip("/").replace("/", " › ") or "(everything)",
        "value": value,
        "source": found.source,
        "lost": [(_plain(one.value), one.layer) for one in found.shadowed],
    }


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
