"""Search by name: sections, projects, scopes with overrides, agents, resource types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console import navigation
from console.pages import page
from console.templatetags.parts import scope_url
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import SEGMENTS, Scope
from overrides.loading.catalogue_cache import current_catalogue
from overrides.models import Override, Project
from registry.agents.models import Agent

_MOST = 20


@dataclass(frozen=True, slots=True)
class Found:
    kind: str
    name: str
    url: str


@page
def search(request: HttpRequest, caller: Caller) -> HttpResponse:
    said = request.GET.get("q", "").strip()[:200]
    # Postgres refuses NUL in a text; no name has a character that cannot be printed.
    asked = said if said.isprintable() else ""
    found = list(_found(asked, caller)) if asked else []
    return render(request, "console/search.html", {"searched": said, "found": found})


def _found(asked: str, caller: Caller) -> Iterator[Found]:
    word = asked.lower()
    for entry in navigation.entries(""):
        if word in entry.section.title.lower():
            yield Found("section", entry.section.title, entry.url)
    projects = Project.objects.readable_in(caller.scopes_for(Action.PROJECT_READ))
    for name in projects.filter(id__icontains=asked).order_by("id").values_list("id", flat=True)[:_MOST]:
        yield Found("project", name, scope_url("overrides", Scope(project=name)))
    yield from _scopes(asked, caller)
    for one in current_catalogue().types.values():
        if word in one.name or word in one.title.lower():
            yield Found("resource type", one.title, reverse("resource-type", args=[one.name]))
    if caller.verdict(Action.AGENT_READ).allowed:
        for agent in Agent.objects.filter(name__icontains=asked).order_by("name")[:_MOST]:
            yield Found("agent", agent.name, reverse("agent", args=[agent.id]))


def _scopes(asked: str, caller: Caller) -> Iterator[Found]:
    rows = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    fits = Q(workflow__icontains=asked) | Q(launch_plan__icontains=asked) | Q(domain__icontains=asked)
    for segments in rows.filter(fits).order_by(*SEGMENTS).values(*SEGMENTS).distinct()[:_MOST]:
        scope = Scope(**segments)
        yield Found("scope", str(scope), scope_url("overrides", scope))
