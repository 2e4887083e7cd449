"""What the agents of some environments serve: service types, and the health of their providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Count

from console.fleet.topology import Served
from registry.agents.states import State
from registry.providers.health import Health
from registry.providers.models import Provider

_TAKE_WORK = [State.READY.value, State.CONGESTED.value]


def served_in(environments: Sequence[str]) -> dict[str, list[Served]]:
    """By environment, by name of the type."""
    providers = _providers(environments)
    found: dict[str, list[Served]] = {}
    with connection.cursor() as cursor:
        asked: dict[str, Any] = {"names": list(environments), "work": _TAKE_WORK, "gone": State.RETIRED.value}
        cursor.execute(_SERVED, asked)
        for environment, name, agents, working in cursor.fetchall():
            here = providers.get((environment, name), (0, 0))
            found.setdefault(environment, []).append(Served(name, agents, working, *here))
    return found


def _providers(environments: Sequence[str]) -> dict[tuple[str, str], tuple[int, int]]:
    """How many providers each type has in an environment, and how many of them are ready."""
    rows = Provider.objects.filter(agent__environment__in=environments, holds_type=True)
    counted = rows.values_list("agent__environment", "service_type", "state").annotate(count=Count("pk"))
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for environment, name, state, count in counted:
        whole, ready = found.get((environment, name), (0, 0))
        found[environment, name] = (whole + count, ready + count * (state == Health.READY))
    return found


_SERVED = """
SELECT agent.environment, type.name, count(*), count(*) FILTER (WHERE agent.state = ANY(%(work)s))
FROM registry_agent AS agent, jsonb_array_elements_text(agent.service_types) AS type (name)
WHERE agent.environment = ANY(%(names)s) AND agent.state <> %(gone)s
GROUP BY agent.environment, type.name ORDER BY agent.environment, type.name
"""
