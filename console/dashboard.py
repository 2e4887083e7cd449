"""The dashboard: state of the fleet, problems, and recent changes. Names only what was checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.fleet import counts
from console.fleet.silence import silence
from console.overrides.write_mode import readable_source
from console.pages import page
from console.sinks.lookup import stopped_sinks
from controlplane.events import log
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.models import Override
from registry.agent_configs.models import AgentConfigStatus
from registry.agent_configs.publishing.hidden_teams import (
    HiddenTeams,
    hidden_teams,
    planes_with_visible_names,
)
from registry.api.agent_configs.document_schemas import show_conflicts

_RECENT = 10


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Documents with rejected claims that the caller can read. first: status of a single document."""

    documents: int
    first: AgentConfigStatus | None = None
    rejected: tuple[dict[str, Any], ...] = ()


@page
def dashboard(request: HttpRequest, caller: Caller) -> HttpResponse:
    if not caller.grants:
        # An empty page would suggest that nothing has happened.
        caller.require(Action.EVENT_READ)
    log.number_committed()
    changed = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    context = {
        **_attention(caller),
        "agents": counts.counts(caller) if caller.owners_for(Action.AGENT_READ) else {},
        "events": visible_events(caller).exclude(seq=None).annotate(now=Now()).order_by("-seq")[:_RECENT],
        "overrides": changed.annotate(now=Now()).order_by("-revision")[:_RECENT],
    }
    return render(request, "console/dashboard/page.html", context)


def _attention(caller: Caller) -> dict[str, Any]:
    """Return problems, passed checks (`fine`) and checks that the caller's roles do not allow (`unseen`)."""
    context: dict[str, Any] = {"fine": [], "unseen": []}
    if caller.owners_for(Action.AGENT_READ):
        context["silence"] = silence(caller)
        if not context["silence"]:
            context["fine"].append("No fleet guard is engaged.")
    else:
        context["unseen"].append("the fleet")
    if caller.owners_for(Action.AGENT_CONFIG_READ):
        hidden = hidden_teams(caller)
        context["conflicts"] = _conflicts(caller, hidden)
        if not context["conflicts"].documents:
            readable = " that you can read" if hidden else ""
            context["fine"].append(f"No agent configuration{readable} has a rejected claim.")
    else:
        context["unseen"].append("agent configurations")
    if caller.scopes_for(Action.OVERRIDE_READ):
        context["source"] = source = readable_source(caller)
        if not source["errors"] and not source["pending"]:
            context["fine"].append(_origin(source, whole=caller.verdict(Action.OVERRIDE_READ).allowed))
    else:
        context["unseen"].append("overrides")
    _check_sinks(caller, context)
    return context


def _check_sinks(caller: Caller, context: dict[str, Any]) -> None:
    # Few roles read sinks: to name them as not checked would be noise for the others.
    if caller.owners_for(Action.SINK_READ):
        context["stopped_sinks"] = stopped_sinks(caller)
        if not context["stopped_sinks"]:
            context["fine"].append("Every event sink is active or paused by a person.")


def _origin(source: dict[str, Any], *, whole: bool) -> str:
    if source["source"] != "file":
        return "Overrides are stored in the database."
    return "Overrides are loaded from files and up to date." if whole else "Overrides are loaded from files."


def _conflicts(caller: Caller, hidden: HiddenTeams) -> Conflicts:
    conflicting = AgentConfigStatus.objects.exclude(conflicts=[])
    conflicting = conflicting.filter(hidden.visible("document__team"), planes_with_visible_names(caller))
    rows = list(conflicting.select_related("document").order_by("id")[:2])
    if len(rows) != 1:
        return Conflicts(conflicting.values("document").distinct().count() if rows else 0)
    return Conflicts(1, rows[0], tuple(show_conflicts(rows[0].conflicts, hidden)))
