"""Service types of environments, with counts of working agents and ready providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Count

from console.fleet.topology import Served
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.states import State
from registry.providers.health import Health
from registry.providers.models import Provider

_TAKE_WORK = [State.READY.value, State.CONGESTED.value]


def served_in(environments: Sequence[str], caller: Caller) -> dict[str, list[Served]]:
    """Return the service types of the caller's agents in each environment, sorted by name."""
    providers = _providers(environments, caller)
    by_environment: dict[str, list[Served]] = {}
    owners = caller.owners_for(Action.AGENT_READ)
    with connection.cursor() as cursor:
        parameters: dict[str, Any] = {
            "names": list(environments),
            "work": _TAKE_WORK,
            "gone": State.RETIRED.value,
            "everything": owners.everything,
            "teams": list(owners.team_ids),
        }
        cursor.execute(_SERVED, parameters)
        for environment, name, agents, working in cursor.fetchall():
            counts = providers.get((environment, name), (0, 0))
            by_environment.setdefault(environment, []).append(Served(name, agents, working, *counts))
    return by_environment


def _providers(environments: Sequence[str], caller: Caller) -> dict[tuple[str, str], tuple[int, int]]:
    """Return counts of all and of ready providers by environment and service type."""
    rows = Provider.objects.within(caller).filter(agent__environment__in=environments, holds_type=True)
    groups = rows.values_list("agent__environment", "service_type", "state").annotate(count=Count("pk"))
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for environment, name, state, count in groups:
        total, ready = counts.get((environment, name), (0, 0))
        counts[environment, name] = (total + count, ready + count * (state == Health.READY))
    return counts


_SERVED = """
SELECT agent.environment, type.name, count(*), count(*) FILTER (WHERE agent.state = ANY(%(work)s))
FROM registry_agent AS agent, jsonb_array_elements_text(agent.service_types) AS type (name)
WHERE agent.environment = ANY(%(names)s) AND agent.state <> %(gone)s
    AND (%(everything)s OR agent.team_id = ANY(%(teams)s::uuid[]))
GROUP BY agent.environment, type.name ORDER BY agent.environment, type.name
"""
