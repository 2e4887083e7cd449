"""Search by name: pages, scopes, and what a reader may read of each kind of object; and by value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console import navigation
from console.pages import page
from console.templatetags.parts import scope_url
from controlplane.access.teams.visible_teams import visible_teams
from controlplane.database.scoped import overlapping
from controlplane.delivery.sinks import visible_sinks
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools.pools import visible_pools
from controlplane.scopes import SEGMENTS, Scope
from overrides.loading.catalogue_cache import current_catalogue
from overrides.models import GuardRailRow, Override, Project
from overrides.value_queries import overrides_with
from overrides.value_terms import ValueTerm, parse_term, setting_of
from registry.agents.models import Agent
from registry.dispatch.resources.search import readable_resources

MAX_RESULTS = 20
_MAX_START = 10_000


@dataclass(frozen=True, slots=True)
class SearchResult:
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class Window:
    """The results from `start` on that are wanted."""

    start: int = 0
    limit: int = MAX_RESULTS

    def of(self, rows: Any) -> Any:
        """Return the results in the window, and one more if there is one."""
        return rows[self.start : self.start + self.limit + 1]


Find = Callable[[str, Caller, Window], Iterator[SearchResult]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object that the search finds. key: in the URL."""

    key: str
    title: str
    find: Find


@dataclass(frozen=True, slots=True)
class Found:
    """Results of one kind. next_start: where the next ones begin, None after the last."""

    kind: Kind
    results: list[SearchResult]
    next_start: int | None


@page
def search(request: HttpRequest, caller: Caller) -> HttpResponse:
    query = request.GET.get("q", "").strip()[:200]
    chosen = request.GET.get("kind", "")
    start = request.GET.get("start", "")
    window = Window(min(int(start), _MAX_START) if start.isdecimal() and start.isascii() else 0)
    kinds = [kind for kind in KINDS if not chosen or kind.key == chosen]
    groups = find_all(query, caller, kinds, window)
    context = {"searched": query, "groups": groups, "chosen": chosen, "start": window.start}
    return render(request, "console/search.html", context)


def find_all(query: str, caller: Caller, kinds: list[Kind], window: Window) -> list[Found]:
    """Return what matches of each kind, without the kinds of which nothing does."""
    # Postgres rejects NUL in text, and no name contains unprintable characters.
    if not query or not query.isprintable():
        return []
    matches = (_find(query, caller, kind, window) for kind in kinds)
    return [match for match in matches if match.results]


def _find(query: str, caller: Caller, kind: Kind, window: Window) -> Found:
    results = list(islice(kind.find(query, caller, window), window.limit + 1))
    has_more = len(results) > window.limit
    return Found(kind, results[: window.limit], window.start + window.limit if has_more else None)


def _sections(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    word = query.lower()
    entries = navigation.entries("", caller)
    matching = [entry for entry in entries if word in entry.section.title.lower()]
    for entry in window.of(matching):
        yield SearchResult(entry.section.title, entry.url)


def _projects(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    projects = Project.objects.readable_in(caller.scopes_for(Action.PROJECT_READ)).filter(id__icontains=query)
    for name in window.of(projects.order_by("id").values_list("id", flat=True)):
        yield SearchResult(name, scope_url("overrides", Scope(project=name)))


def _values(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    term = parse_term(query)
    if term is None:
        return
    for override in window.of(overrides_with(query, caller)):
        yield SearchResult(f"{query} at {override.scope}", _explanation_url(override, term))


def _explanation_url(override: Override, term: ValueTerm) -> str:
    """Return the URL of the effective values, with the explanation of the value that was found."""
    url = scope_url("overrides", override.scope)
    if setting := setting_of(term, override.attributes):
        url = f"{url}{'&' if '?' in url else '?'}why={quote(f'{override.resource_type}{setting}')}"
    return f"{url}#{override.resource_type}"


def _scopes(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    rows = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    condition = Q(workflow__icontains=query) | Q(launch_plan__icontains=query) | Q(domain__icontains=query)
    distinct = rows.filter(condition).order_by(*SEGMENTS).values(*SEGMENTS).distinct()
    for segments in window.of(distinct):
        scope = Scope(**segments)
        yield SearchResult(str(scope), scope_url("overrides", scope))


def _resource_types(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    word = query.lower()
    types = current_catalogue().types.values()
    matching = [kind for kind in types if word in kind.name or word in kind.title.lower()]
    for kind in window.of(matching):
        yield SearchResult(kind.title, reverse("resource-type", args=[kind.name]))


def _agents(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    agents = Agent.objects.within(caller).filter(name__icontains=query).order_by("name", "id")
    for agent_id, name in window.of(agents.values_list("id", "name")):
        yield SearchResult(name, reverse("agent", args=[agent_id]))


def _resources(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    rows = readable_resources(caller).filter(id__startswith=query).order_by("id")
    for resource_id in window.of(rows.values_list("id", flat=True)):
        yield SearchResult(resource_id, reverse("resource", args=[resource_id]))


def _sinks(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    for sink in window.of(visible_sinks(caller).filter(name__icontains=query).order_by("name", "id")):
        yield SearchResult(sink.name, reverse("sink", args=[sink.id]))


def _pools(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    rows = visible_pools(caller).filter(name__icontains=query).order_by("name")
    for name in window.of(rows.values_list("name", flat=True)):
        yield SearchResult(name, reverse("pool", args=[name]))


def _guard_rails(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    readable = overlapping(caller.scopes_for(Action.OVERRIDE_READ))
    rows = GuardRailRow.objects.filter(readable, name__icontains=query).present().order_by("name")
    for name in window.of(rows.values_list("name", flat=True)):
        yield SearchResult(name, reverse("guard-rail", args=[name]))


def _teams(query: str, caller: Caller, window: Window) -> Iterator[SearchResult]:
    rows = visible_teams(caller).filter(Q(slug__icontains=query) | Q(title__icontains=query))
    for slug in window.of(rows.order_by("slug").values_list("slug", flat=True)):
        yield SearchResult(slug, reverse("team", args=[slug]))


KINDS = [
    Kind("sections", "Pages", _sections),
    Kind("projects", "Projects", _projects),
    Kind("values", "Values", _values),
    Kind("scopes", "Scopes with overrides", _scopes),
    Kind("resource-types", "Resource types", _resource_types),
    Kind("agents", "Agents", _agents),
    Kind("resources", "Resources", _resources),
    Kind("sinks", "Event sinks", _sinks),
    Kind("pools", "Pools", _pools),
    Kind("guard-rails", "Guard rails", _guard_rails),
    Kind("teams", "Teams", _teams),
]
