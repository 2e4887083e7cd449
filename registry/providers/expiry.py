"""Providers whose lease ran out lose their service type, once each and with an event. Part of the sweep.

Only agents that beat are looked at: nothing is known of a silent agent's providers, and its state says so.
"""

from __future__ import annotations

import time
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.identity.actors import system
from registry.agents.liveness import LivenessPolicy
from registry.agents.models import Agent, Lease
from registry.agents.policies import liveness_policy, outage_gap
from registry.agents.states import LIVE
from registry.providers import leases, storage
from registry.providers.storage import By

# Agents at a time, and for how long: the sweep of agents must not wait. The next one takes the others.
AGENTS = 500
_SECONDS = 2.0
_BY = By(system("sweep").name)


def expire_providers() -> int:
    """Free the types of providers that nobody has named for a lease; return how many."""
    policy, end = liveness_policy(), time.monotonic() + _SECONDS
    expired = 0
    for agent_id in _agents_with_due(policy):
        expired += _expire_of(agent_id, policy)
        if time.monotonic() > end:
            break
    return expired


def _agents_with_due(policy: LivenessPolicy) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(
            _DUE,
            {
                "lease": policy.lease.total_seconds(),
                "grace": policy.grace().total_seconds(),
                "patience": policy.grace().total_seconds(),
                "gap": outage_gap().total_seconds(),
                "live": [state.value for state in LIVE],
                "agents": AGENTS,
            },
        )
        return [row[0] for row in cursor.fetchall()]


@transaction.atomic
def _expire_of(agent_id: UUID, policy: LivenessPolicy) -> int:
    """Judged again under the lock: meanwhile the agent may have named them."""
    rows = Lease.objects.select_for_update(skip_locked=True).annotate(now=Now())
    lease = rows.filter(agent_id=agent_id).first()
    if lease is None:
        return 0
    held = storage.locked(Agent.objects.get(id=agent_id), lease, lease.now)
    due = [one for one in held.providers if one.holds_type and leases.is_over(one, lease, policy, held.now)]
    for one in due:
        storage.expire(one, "Nobody named it until its lease ran out.", held, _BY)
    if due:
        storage.publish_conditions(held)
    return len(due)


# `leases.is_over` for all agents at once, as a test compares. An agent that has just come back is given a
# lease's time to name its providers.
_DUE = """
SELECT DISTINCT lease.agent_id
FROM registry_provider AS provider
JOIN registry_lease AS lease ON lease.agent_id = provider.agent_id
JOIN registry_agent AS agent ON agent.id = provider.agent_id
WHERE provider.holds_type AND provider.expires_at < now()
    AND (NOT provider.vouched OR lease.vouched_at IS NULL
        OR lease.vouched_at < now() - %(lease)s * interval '1 second')
    AND lease.expires_at >= now() AND lease.state = ANY(%(live)s)
    AND (agent.state_since < greatest(provider.expires_at, CASE WHEN provider.vouched
            THEN lease.vouched_at + %(lease)s * interval '1 second' END)
        OR agent.state_since < now() - %(lease)s * interval '1 second')
    AND (
        SELECT bool_and(coalesce(heard_at > now() - %(patience)s * interval '1 second', true))
        FROM registry_environment WHERE name = ''
    ) IS NOT FALSE
    AND (
        SELECT last_sweep_at >= now() - %(gap)s * interval '1 second'
            AND reachable_since + %(grace)s * interval '1 second' < now()
        FROM registry_sweeprecord WHERE id = 1
    )
LIMIT %(agents)s
"""
