"""The first page: how the fleet is, what changed, what needs somebody."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.fleet import counts
from console.pages import page
from controlplane.access.callers import Caller
from controlplane.access.roles import Action
from controlplane.events import log
from controlplane.events.models import Event
from overrides.file_source import source_state
from overrides.models import Override
from registry.models import FleetGuard
from registry.publishing.api.shapes import show_conflicts
from registry.publishing.rows import AgentConfigStatus
from registry.publishing.teams import hidden_teams

_RECENT = 10
_CONFLICTS = 5


@page
def dashboard(request: HttpRequest, caller: Caller) -> HttpResponse:
    if not caller.grants:
        # An empty page would say that nothing has happened.
        caller.require(Action.EVENT_READ)
    log.number_committed()
    events = Event.objects.within(caller.scopes_for(Action.EVENT_READ)).exclude(seq=None)
    changed = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    sees_agents = caller.verdict(Action.AGENT_READ).allowed
    context = {
        "guards": FleetGuard.objects.exclude(engaged_at=None).annotate(now=Now()) if sees_agents else [],
        "source": source_state() if caller.scopes_for(Action.OVERRIDE_READ) else None,
        "conflicts": _conflicts(caller) if caller.verdict(Action.AGENT_CONFIG_READ).allowed else [],
        "agents": counts.counts() if sees_agents else {},
        "events": events.annotate(now=Now()).order_by("-seq")[:_RECENT],
        "overrides": changed.annotate(now=Now()).order_by("-revision")[:_RECENT],
    }
    return render(request, "console/dashboard/page.html", context)


def _conflicts(caller: Caller) -> list[tuple[AgentConfigStatus, list[dict[str, Any]]]]:
    """Documents that lost a claim, as far as the API would tell this caller."""
    lost = AgentConfigStatus.objects.exclude(conflicts=[]).select_related("document")
    seen = lost.exclude(document__team__in=hidden_teams(caller)).order_by("id")[:_CONFLICTS]
    return [(one, show_conflicts(one.conflicts, caller)) for one in seen]
