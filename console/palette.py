"""The command palette: pages, actions and objects by a few letters, as a part of any page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console import navigation
from console.pages import page
from console.palette_actions import actions_for
from console.search import KINDS, SearchResult, Window, find_all
from controlplane.identity.callers import Caller

# Of each kind: more are on the search page.
_MOST = 6
_OBJECTS = [kind for kind in KINDS if kind.key != "sections"]


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    results: list[SearchResult]


@page
def palette(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Show what matches `?q=`; without it, what one can begin and the pages."""
    query = request.GET.get("q", "").strip()[:200]
    groups = [group for group in _groups(query, caller) if group.results]
    response = render(request, "console/parts/palette_results.html", {"query": query, "groups": groups})
    response.headers["Cache-Control"] = "no-store"
    return response


def _groups(query: str, caller: Caller) -> Iterator[Group]:
    actions = [
        SearchResult(action.title, action.url)
        for action in actions_for(caller)
        if matches(query, f"{action.title} {action.words}")
    ]
    yield Group("Actions", actions if query else actions[:_MOST])
    sections = [
        SearchResult(entry.section.title, entry.url)
        for entry in navigation.entries("", caller)
        if matches(query, f"{entry.section.title} {entry.section.group}")
    ]
    yield Group("Pages", sections)
    for matching in find_all(query, caller, _OBJECTS, Window(limit=_MOST)):
        yield Group(matching.kind.title, matching.results)


def matches(query: str, text: str) -> bool:
    """Return whether each word of the query begins a word of the text."""
    words = text.lower().split()
    return all(any(word.startswith(part) for word in words) for part in query.lower().split())
