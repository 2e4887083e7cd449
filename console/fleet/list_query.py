"""Filters and order of the agents page, translated to the query of the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.fleet.counts import LATE
from controlplane.api.time_range import read_range
from controlplane.identity.callers import Caller
from registry.agents.models import Agent
from registry.agents.querysets import AgentQuerySet
from registry.agents.states import SILENT
from registry.listing.search import ORDERS, search_agents

FILTERS = ("state", "environment", "team", "service_type", "selector", "q", "since", "until", "sort")
_PASSED_ON = ("environment", "team", "service_type", "selector", "q")
# Both states of agents whose lease has expired.
SILENT_STATES = "silent"
SORTS = {
    "name": "name",
    "-name": "name, descending",
    "environment": "environment",
    "-state_since": "latest change",
    "state_since": "earliest change",
    "-create_time": "newest",
    "create_time": "oldest",
}


def matching_agents(filters: Mapping[str, str], caller: Caller) -> AgentQuerySet:
    """Return the caller's agents that match all filters that are not empty. Raises InvalidRequest."""
    if not all(value.isprintable() for value in filters.values()):
        # Postgres rejects NUL in text, and no name contains unprintable characters.
        return Agent.objects.none()
    query: dict[str, Any] = {name: filters[name] for name in _PASSED_ON if filters.get(name)}
    if filters.get("state") == LATE:
        query["late"] = True
    elif filters.get("state") == SILENT_STATES:
        query["health_status"] = sorted(SILENT)
    elif filters.get("state"):
        query["health_status"] = [filters["state"]]
    return search_agents({**query, **read_range(filters)}, caller)


def order(filters: Mapping[str, str]) -> tuple[str, ...]:
    return ORDERS.get(filters.get("sort") or "name", ORDERS["name"])
