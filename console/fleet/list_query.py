"""What somebody asks the list of agents: the same question as the API's, from a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.fleet.counts import LATE
from registry.agents.models import Agent
from registry.agents.querysets import AgentQuerySet
from registry.listing.search import ORDERS, matching

NAMES = ("state", "environment", "service_type", "selector", "q", "sort")
_AS_ASKED = ("environment", "service_type", "selector", "q")
SORTS = {
    "name": "name",
    "-name": "name, from the end",
    "environment": "environment",
    "-state_since": "changed last",
    "state_since": "changed first",
    "-create_time": "newest",
    "create_time": "oldest",
}


def fitting(asked: Mapping[str, str]) -> AgentQuerySet:
    """Agents that fit; an empty filter fits all, a word that we do not know none. Raises InvalidRequest."""
    if not all(value.isprintable() for value in asked.values()):
        # Postgres refuses NUL in a text; no name has a character that cannot be printed.
        return Agent.objects.none()
    query: dict[str, Any] = {name: asked[name] for name in _AS_ASKED if asked.get(name)}
    if asked.get("state") == LATE:
        query["late"] = True
    elif asked.get("state"):
        query["health_status"] = [asked["state"]]
    return matching(query)


def order(asked: Mapping[str, str]) -> tuple[str, ...]:
    return ORDERS.get(asked.get("sort") or "name", ORDERS["name"])
