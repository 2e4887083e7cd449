"""Find agents in a big fleet: filters, label selectors, part of a name, order. Each by an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Q

from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.querysets import AgentQuerySet, late
from registry.listing import selectors
from registry.listing.selectors import Requirement, Wish
from registry.providers.health import Health

# What a list can be ordered by, and the columns that make each order total.
ORDERS: dict[str, tuple[str, ...]] = {
    "name": ("name",),
    "-name": ("-name",),
    "environment": ("environment", "name"),
    "-environment": ("-environment", "-name"),
    "state_since": ("state_since", "name"),
    "-state_since": ("-state_since", "-name"),
    "create_time": ("created_at", "name"),
    "-create_time": ("-created_at", "-name"),
}


def matching(query: Mapping[str, Any]) -> AgentQuerySet:
    """The agents that a list's parameters describe. Raises InvalidRequest."""
    rows: Any = Agent.objects.shown()
    if states := query.get("health_status"):
        rows = rows.filter(state__in=states)
    if "environment" in query:
        rows = rows.filter(environment=query["environment"])
    if "service_type" in query:
        withheld = {"service_type": query["service_type"], "status": Health.UNAVAILABLE.value}
        rows = rows.filter(service_types__contains=[query["service_type"]])
        rows = rows.exclude(service_type_conditions__contains=[withheld])
    if query.get("q"):
        rows = rows.filter(name__icontains=query["q"])
    if query.get("late"):
        rows = rows.filter(late(liveness_policy().interval))
    for requirement in selectors.parse(query.get("selector", "")):
        rows = rows.filter(meets(requirement))
    found: AgentQuerySet = rows
    return found


def meets(requirement: Requirement) -> Q:
    """`Requirement.met_by` in SQL; a test compares the two."""
    has_name = Q(labels__has_key=requirement.name)
    if requirement.wish is Wish.EXISTS:
        return has_name
    if requirement.wish is Wish.ABSENT:
        return ~has_name
    one_of = Q(pk__in=[])
    for value in requirement.values:
        one_of |= Q(labels__contains={requirement.name: value})
    return one_of if requirement.wish is Wish.IN else ~one_of
