"""Search by name: sections, projects, scopes, agents, resource types, resources, sinks; and by value."""

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
from controlplane.delivery.sinks import visible_sinks
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import SEGMENTS, Scope
from overrides.loading.catalogue_cache import current_catalogue
from overrides.models import Override, Project
from overrides.value_queries import find_values
from registry.agents.models import Agent
from registry.dispatch.resources.search import readable_resources

_MAX_RESULTS = 20


@dataclass(frozen=True, slots=True)
class SearchResult:
    kind: str
    name: str
    url: str


@page
def search(request: HttpRequest, caller: Caller) -> HttpResponse:
    query = request.GET.get("q", "").strip()[:200]
    # Postgres rejects NUL in text, and no name contains unprintable characters.
    name = query if query.isprintable() else ""
    results = list(_search(name, caller)) if name else []
    return render(request, "console/search.html", {"searched": query, "results": results})


def _search(query: str, caller: Caller) -> Iterator[SearchResult]:
    word = query.lower()
    for entry in navigation.entries("", caller):
        if word in entry.section.title.lower():
            yield SearchResult("section", entry.section.title, entry.url)
    projects = Project.objects.readable_in(caller.scopes_for(Action.PROJECT_READ))
    for name in (
        projects.filter(id__icontains=query).order_by("id").values_list("id", flat=True)[:_MAX_RESULTS]
    ):
        yield SearchResult("project", name, scope_url("overrides", Scope(project=name)))
    yield from _values(query, caller)
    yield from _scopes(query, caller)
    for resource_type in current_catalogue().types.values():
        if word in resource_type.name or word in resource_type.title.lower():
            yield SearchResult(
                "resource type", resource_type.title, reverse("resource-type", args=[resource_type.name])
            )
    agents = Agent.objects.within(caller).filter(name__icontains=query)
    for agent in agents.order_by("name")[:_MAX_RESULTS]:
        yield SearchResult("agent", agent.name, reverse("agent", args=[agent.id]))
    resource_ids = readable_resources(caller).filter(id__startswith=query).values_list("id", flat=True)
    for resource_id in resource_ids.order_by("id")[:_MAX_RESULTS]:
        yield SearchResult("resource", resource_id, reverse("resource", args=[resource_id]))
    yield from _sinks(query, caller)


def _values(query: str, caller: Caller) -> Iterator[SearchResult]:
    for override in find_values(caller, query, _MAX_RESULTS):
        url = f"{scope_url('overrides', override.scope)}#{override.resource_type}"
        yield SearchResult("value", f"{query} at {override.scope}", url)


def _sinks(query: str, caller: Caller) -> Iterator[SearchResult]:
    for sink in visible_sinks(caller).filter(name__icontains=query).order_by("name")[:_MAX_RESULTS]:
        yield SearchResult("event sink", sink.name, reverse("sink", args=[sink.id]))


def _scopes(query: str, caller: Caller) -> Iterator[SearchResult]:
    rows = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    condition = Q(workflow__icontains=query) | Q(launch_plan__icontains=query) | Q(domain__icontains=query)
    for segments in rows.filter(condition).order_by(*SEGMENTS).values(*SEGMENTS).distinct()[:_MAX_RESULTS]:
        scope = Scope(**segments)
        yield SearchResult("scope", str(scope), scope_url("overrides", scope))
