"""Expire the leases of providers: free the service type and record an event. Part of the sweep.

Only agents that send heartbeats are checked: the providers of a silent agent are unknown, as its state shows.
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
from registry.providers.storage import Author

# Limits per run, so that the sweep of agents does not wait. The next run continues.
AGENTS = 500
_SECONDS = 2.0
_AUTHOR = Author(system("sweep").name)


def expire_providers() -> int:
    """Expire providers that no report has named for one lease; return how many."""
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
    """Check again under the lock: the agent may have reported its providers in the meantime."""
    rows = Lease.objects.select_for_update(skip_locked=True).annotate(now=Now())
    lease = rows.filter(agent_id=agent_id).first()
    if lease is None:
        return 0
    locked_agent = storage.load_locked_agent(Agent.objects.get(id=agent_id), lease, lease.now)
    now, providers = locked_agent.now, locked_agent.providers
    due = [row for row in providers if row.holds_type and leases.is_over(row, lease, policy, now)]
    for provider in due:
        storage.expire(provider, "The lease expired without a report.", locked_agent, _AUTHOR)
    if due:
        storage.publish_conditions(locked_agent)
    return len(due)


# `leases.is_over` for all agents at once (a test compares the two). An agent that has just recovered gets
# one lease to report its providers.
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
