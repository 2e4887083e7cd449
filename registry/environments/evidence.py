"""When agents of each environment, and of the fleet, were last heard: taken from the leases at each sweep.

Heartbeats write nothing for it: the sweep reads the whole lease table anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from controlplane.database.bulk import recordset
from registry.agents.liveness import LivenessPolicy
from registry.environments.hearing import Hearing, patience_of
from registry.environments.models import Environment

WHOLE_FLEET = ""
# One silent agent says nothing of its environment; of the whole fleet it is all that we know.
_LEAST_IN_ENVIRONMENT = 2


@dataclass(frozen=True, slots=True)
class Sighting:
    """heard_at: the newest lease of a scope. shortest: the shortest lease of agents that hold one."""

    heard_at: datetime | None = None
    shortest: timedelta | None = None

    def __add__(self, other: Sighting) -> Sighting:
        heard = [one.heard_at for one in (self, other) if one.heard_at is not None]
        shortest = [one.shortest for one in (self, other) if one.shortest is not None]
        return Sighting(max(heard, default=None), min(shortest, default=None))


def note_hearing(
    sightings: Mapping[int | None, Sighting], policy: LivenessPolicy, *, now: datetime
) -> dict[int, Hearing]:
    """Judge, for each guard by its id, whether its agents are heard; store what changed.

    Needs the transaction of the sweep.
    """
    whole = sum(sightings.values(), Sighting())
    found: dict[int, Hearing] = {}
    news: list[dict[str, object]] = []
    for environment in Environment.objects.only("id", "name", "heard_at", "hearing_since"):
        is_fleet = environment.name == WHOLE_FLEET
        sighting = whole if is_fleet else sightings.get(environment.id, Sighting())
        before = _stored(environment, sighting, policy, least=1 if is_fleet else _LEAST_IN_ENVIRONMENT)
        after = before.after(sighting.heard_at, now=now)
        found[environment.id] = after
        if after.is_news(before):
            news.append({"id": environment.id, "heard_at": after.heard_at, "since": after.since})
    if news:
        with connection.cursor() as cursor:
            cursor.execute(_STORE, {"rows": recordset(news)})
    return found


def _stored(environment: Environment, sighting: Sighting, policy: LivenessPolicy, *, least: int) -> Hearing:
    lease = max(sighting.shortest or policy.lease, policy.shortest_lease())
    return Hearing(
        environment.heard_at,
        environment.hearing_since,
        patience=patience_of(lease),
        grace=max(policy.grace(), lease),
        least=least,
    )


# In order, and without rows that somebody else changes: nobody waits for another. The next sweep has them.
_STORE = """
WITH said AS (
    SELECT * FROM json_to_recordset(%(rows)s)
        AS said (id integer, heard_at timestamptz, since timestamptz)
), free AS (
    SELECT environment.id FROM registry_environment AS environment JOIN said ON said.id = environment.id
    ORDER BY environment.id FOR UPDATE OF environment SKIP LOCKED
)
UPDATE registry_environment AS environment SET heard_at = said.heard_at, hearing_since = said.since
FROM said JOIN free ON free.id = said.id WHERE environment.id = said.id
"""
