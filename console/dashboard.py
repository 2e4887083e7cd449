"""The first page: how the fleet is, what changed, what needs somebody. It states only what was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.fleet import counts
from console.fleet.silence import silence
from console.overrides.write_mode import shown_source
from console.pages import page
from controlplane.events import log
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.models import Override
from registry.agent_configs.models import AgentConfigStatus
from registry.agent_configs.publishing.teams import hidden_teams
from registry.api.agent_configs.document_schemas import show_conflicts

_RECENT = 10


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Documents that lost a claim, as far as the caller may read them. first: of the only one."""

    documents: int
    first: AgentConfigStatus | None = None
    lost: tuple[dict[str, Any], ...] = ()


@page
def dashboard(request: HttpRequest, caller: Caller) -> HttpResponse:
    if not caller.grants:
        # An empty page would say that nothing has happened.
        caller.require(Action.EVENT_READ)
    log.number_committed()
    changed = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    sees_agents = caller.verdict(Action.AGENT_READ).allowed
    context = {
        **_attention(caller),
        "agents": counts.counts() if sees_agents else {},
        "events": visible_events(caller).exclude(seq=None).annotate(now=Now()).order_by("-seq")[:_RECENT],
        "overrides": changed.annotate(now=Now()).order_by("-revision")[:_RECENT],
    }
    return render(request, "console/dashboard/page.html", context)


def _attention(caller: Caller) -> dict[str, Any]:
    """What needs somebody; what was looked at and is in order; and what the caller may not look at."""
    found: dict[str, Any] = {"fine": [], "unseen": []}
    if caller.verdict(Action.AGENT_READ).allowed:
        found["silence"] = silence()
        if not found["silence"]:
            found["fine"].append("No fleet guard is engaged.")
    else:
        found["unseen"].append("the fleet")
    if caller.scopes_for(Action.AGENT_CONFIG_READ):
        hidden = hidden_teams(caller)
        found["conflicts"] = _conflicts(caller, hidden)
        if not found["conflicts"].documents:
            readable = " that you may read" if hidden else ""
            found["fine"].append(f"No agent configuration{readable} has lost a claim.")
    else:
        found["unseen"].append("agent configurations")
    if caller.scopes_for(Action.OVERRIDE_READ):
        found["source"] = source = shown_source(caller)
        if not source["errors"] and not source["pending"]:
            found["fine"].append(_origin(source, whole=caller.verdict(Action.OVERRIDE_READ).allowed))
    else:
        found["unseen"].append("overrides")
    return found


def _origin(source: dict[str, Any], *, whole: bool) -> str:
    if source["source"] != "file":
        return "Overrides come from the database."
    return "Overrides come from files, which are in force." if whole else "Overrides come from files."


def _conflicts(caller: Caller, hidden: list[str]) -> Conflicts:
    lost = AgentConfigStatus.objects.exclude(conflicts=[]).exclude(document__team__in=hidden)
    rows = list(lost.select_related("document").order_by("id")[:2])
    if len(rows) != 1:
        return Conflicts(lost.values("document").distinct().count() if rows else 0)
    return Conflicts(1, rows[0], tuple(show_conflicts(rows[0].conflicts, caller)))
