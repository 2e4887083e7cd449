"""Filters and columns of the agents page, translated to the query of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from console.fleet.counts import LATE
from console.listing import Column
from controlplane.api.time_range import read_range
from controlplane.identity.callers import Caller
from registry.agents.models import Agent
from registry.agents.querysets import AgentQuerySet
from registry.agents.states import SILENT
from registry.listing.search import SORT_KEYS, search_agents

FILTERS = ("state", "environment", "team", "service_type", "selector", "q", "since", "until")
# What the API calls them: addresses are often typed from its documentation.
_NAMES_IN_API = {"state": "health_status", "selector": "label_selector"}
# Those that few need: they are shown when one is set.
MORE_FILTERS = ("team", "service_type", "selector", "since", "until")
_PASSED_ON = ("environment", "team", "service_type", "selector", "q")
# Both states of agents whose lease has expired.
SILENT_STATES = "silent"
# Keys of columns that sort are the API's orders.
COLUMNS = (
    Column("name", "Name", "medium", order=SORT_KEYS.order("name"), is_optional=False),
    Column("state", "State", "medium"),
    Column("reason", "Reason"),
    Column("state_since", "Since", "short", order=SORT_KEYS.order("state_since")),
    Column("last_hour", "Last hour", "narrow"),
    Column("last_heartbeat", "Heartbeat", "short", order=SORT_KEYS.order("last_heartbeat")),
    Column("consumer_lag", "Lag", "tiny", order=SORT_KEYS.order("consumer_lag"), is_number=True),
    Column("environment", "Environment", "place", order=SORT_KEYS.order("environment")),
    Column("team", "Team", "narrow", is_extra=True),
    Column("service_types", "Service types", is_extra=True),
    Column("providers", "Providers", is_extra=True),
    Column("task_types", "Task types", is_extra=True),
    Column("labels", "Labels", is_extra=True),
    Column("versions", "Versions", is_extra=True),
    Column(
        "clock_skew_ms",
        "Clock skew",
        "narrow",
        order=SORT_KEYS.order("clock_skew_ms"),
        is_number=True,
        is_extra=True,
    ),
    Column("create_time", "Registered", "narrow", order=SORT_KEYS.order("create_time"), is_extra=True),
)


def read_filters(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the value of each filter, empty if it is not set."""

    def value(name: str) -> str:
        return parameters.get(name) or parameters.get(_NAMES_IN_API.get(name, ""), "")

    return {name: value(name).strip() for name in FILTERS}


def matching_agents(
    filters: Mapping[str, str], caller: Caller, *, order: Sequence[str] = ("name",)
) -> AgentQuerySet:
    """Return the caller's agents that match all filters that are not empty. Raises InvalidRequest.

    order: columns to sort by.
    """
    if not all(value.isprintable() for value in filters.values()):
        # Postgres rejects NUL in text, and no name contains unprintable characters.
        return Agent.objects.none()
    query: dict[str, Any] = {name: filters[name] for name in _PASSED_ON if filters.get(name)} | {
        "sort": order
    }
    if filters.get("state") == LATE:
        query["late"] = True
    elif filters.get("state") == SILENT_STATES:
        query["health_status"] = sorted(SILENT)
    elif filters.get("state"):
        query["health_status"] = [filters["state"]]
    return search_agents({**query, **read_range(filters)}, caller)
