"""When agents of each environment and of the fleet were last heard, read from the leases by each sweep.

Heartbeats write nothing for this: the sweep reads the whole lease table anyway.
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
# One silent agent is no evidence for its environment; for the fleet it can be the only evidence.
_MIN_AGENTS = 2


@dataclass(frozen=True, slots=True)
class Evidence:
    """heard_at: the last renewal of a lease in a scope. shortest_lease: of agents with a lease."""

    heard_at: datetime | None = None
    shortest_lease: timedelta | None = None

    def __add__(self, other: Evidence) -> Evidence:
        heard_times = [evidence.heard_at for evidence in (self, other) if evidence.heard_at is not None]
        shortest_lease = [
            evidence.shortest_lease for evidence in (self, other) if evidence.shortest_lease is not None
        ]
        return Evidence(max(heard_times, default=None), min(shortest_lease, default=None))


def update_hearings(
    evidence_by_id: Mapping[int | None, Evidence], policy: LivenessPolicy, *, now: datetime
) -> dict[int, Hearing]:
    """Judge for each guard, by its id, whether its agents are heard; store changes.

    Needs the transaction of the sweep.
    """
    fleet_evidence = sum(evidence_by_id.values(), Evidence())
    hearings: dict[int, Hearing] = {}
    changed_rows: list[dict[str, object]] = []
    for environment in Environment.objects.only("id", "name", "heard_at", "hearing_since"):
        is_fleet = environment.name == WHOLE_FLEET
        evidence = fleet_evidence if is_fleet else evidence_by_id.get(environment.id, Evidence())
        before = _stored_hearing(environment, evidence, policy, least=1 if is_fleet else _MIN_AGENTS)
        after = before.after(evidence.heard_at, now=now)
        hearings[environment.id] = after
        if after.must_be_stored(before):
            changed_rows.append({"id": environment.id, "heard_at": after.heard_at, "since": after.since})
    if changed_rows:
        with connection.cursor() as cursor:
            cursor.execute(_STORE, {"rows": recordset(changed_rows)})
    return hearings


def _stored_hearing(
    environment: Environment, evidence: Evidence, policy: LivenessPolicy, *, least: int
) -> Hearing:
    lease = max(evidence.shortest_lease or policy.lease, policy.shortest_lease())
    return Hearing(
        environment.heard_at,
        environment.hearing_since,
        patience=patience_of(lease),
        grace=max(policy.grace(), lease),
        least=least,
    )


# In order and without locked rows, so that nothing waits; the next sweep updates those.
_STORE = """
WITH hearing AS (
    SELECT * FROM json_to_recordset(%(rows)s)
        AS hearing (id integer, heard_at timestamptz, since timestamptz)
), free AS (
    SELECT environment.id FROM registry_environment AS environment JOIN hearing ON hearing.id = environment.id
    ORDER BY environment.id FOR UPDATE OF environment SKIP LOCKED
)
UPDATE registry_environment AS environment SET heard_at = hearing.heard_at, hearing_since = hearing.since
FROM hearing JOIN free ON free.id = hearing.id WHERE environment.id = hearing.id
"""
