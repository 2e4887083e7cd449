"""Pages: doors to the same functions that the API calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console import fleet, ladder
from controlplane.access.callers import Caller, caller_for
from controlplane.access.models import Principal
from controlplane.access.roles import Action
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.scopes import SEGMENTS, Scope
from overrides.effective import effective_attributes
from overrides.models import Domain, Override, Project
from registry.agents.policies import liveness_policy
from registry.agents.states import LIVE
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
    if not caller.grants:
        # An empty page would say that nothing has happened.
        caller.require(Action.EVENT_READ)
    log.number_committed()
    events = Event.objects.within(caller.scopes_for(Action.EVENT_READ)).exclude(seq=None)
    changed = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    context = {
        "agents": fleet.counts() if caller.verdict(Action.AGENT_READ).allowed else {},
        "events": events.annotate(now=Now()).order_by("-seq")[:_RECENT],
        "overrides": changed.annotate(now=Now()).order_by("-revision")[:_RECENT],
    }
    return render(request, "console/dashboard.html", context)


@page
def overrides(request: HttpRequest, caller: Caller) -> HttpResponse:
    readable = caller.scopes_for(Action.OVERRIDE_READ)
    if not readable:
        caller.require(Action.OVERRIDE_READ)
    asked = {name: request.GET.get(name, "").strip() for name in SEGMENTS}
    answer, status = _effective(caller, asked)
    domains = Domain.objects.order_by("id").values_list("id", flat=True)
    form = {
        "asked": asked,
        "projects": _choices(_projects(caller), asked["project"]),
        "domains": _choices(domains, asked["domain"]),
        "readable": readable,
    }
    return render(request, "console/overrides.html", {**form, **answer}, status=status)


@page
def agents(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    filters = {name: request.GET.get(name, "") for name in ("state", "environment")}
    found = list(fleet.matching(**filters)[: _SHOWN_AGENTS + 1])
    context = {
        "agents": [(agent, _is_late(agent)) for agent in found[:_SHOWN_AGENTS]],
        "more": len(found) > _SHOWN_AGENTS,
        "shown": _SHOWN_AGENTS,
        "filters": filters,
        "filtered": any(filters.values()),
        "states": _choices(fleet.CHOICES, filters["state"]),
        "environments": _choices(_environments(), filters["environment"]),
    }
    return render(request, "console/agents.html", context)


def _effective(caller: Caller, asked: dict[str, str]) -> tuple[dict[str, Any], int]:
    """What the page shows below its form, and the status."""
    try:
        scope = Scope(**asked)
        caller.require(Action.OVERRIDE_READ, scope)
        tables = ladder.tables(effective_attributes(scope))
        query = urlencode({name: value for name, value in scope.segments.items() if value})
        return {"scope": scope, "query": query, "tables": tables}, 200
    except PermissionDenied as error:
        # With the form: who may read one project begins at "any", and is only one choice away.
        return {"problem": error, "denied": True}, 403
    except ControlplaneError as error:
        return {"problem": error}, 422


def _projects(caller: Caller) -> list[str]:
    """The projects that the API would list to this caller."""
    rows = Project.objects.readable_in(caller.scopes_for(Action.PROJECT_READ)).order_by("id")
    return list(rows.values_list("id", flat=True)[:1000])


def _environments() -> list[str]:
    rows = Agent.objects.order_by("environment").values_list("environment", flat=True)
    return list(rows.distinct()[:200])


def _choices(known: Any, chosen: str) -> list[str]:
    """What was asked stays chosen, known or not: the form must not change the question."""
    offered = list(known)
    return [*offered, chosen] if chosen and chosen not in offered else offered


def _is_late(agent: Agent) -> bool:
    now = agent.now  # type: ignore[attr-defined]  # annotated
    return agent.state in LIVE and liveness_policy().is_late(agent.lease.renewed_at, now=now)
