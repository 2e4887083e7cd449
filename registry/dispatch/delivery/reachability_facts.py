"""Run the reachability test of an agent: its lease, its last fetch, and its consumer as NATS describes it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings

from controlplane.messaging.nats_questions import ask_for_consumer
from controlplane.messaging.nats_types import NatsRefused, NatsUnavailable
from controlplane.messaging.outbox import HTTPS
from controlplane.messaging.streams import REQUESTS
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.dispatch.channels import FETCHES_FOR
from registry.dispatch.delivery.reachability import (
    ByHttps,
    ByNats,
    Consumer,
    Heartbeats,
    Reachability,
    Requests,
    judge_reachability,
)
from registry.dispatch.nats_logins.decide import consumers_of

# As long as readiness checks wait for NATS.
_NATS_SECONDS = 2.0


def check_reachability(agent: Agent, *, since: datetime | None) -> Reachability:
    """Return the outcome for an agent as `shown`. since: the begin of the test; None: what is known counts.

    Asks NATS, for at most two seconds, unless the agent fetches its requests by HTTPS.
    """
    lease, policy = agent.lease, liveness_policy()
    heartbeats = Heartbeats(lease.renewed_at, lease.expires_at, policy.expected_interval(lease.set_seconds))
    return judge_reachability(
        heartbeats,
        _find_requests(agent),
        since=since,
        now=agent.now,  # type: ignore[attr-defined]  # annotated
    )


def _find_requests(agent: Agent) -> Requests | None:
    if not agent.service_types:
        return None
    messaging: Any = getattr(agent, "messaging", None)
    if messaging is not None and messaging.channel == HTTPS:
        return ByHttps(messaging.fetched_at, FETCHES_FOR)
    return _ask_nats(agent.topic_name)


def _ask_nats(topic: str) -> ByNats:
    names = consumers_of(topic)
    if names is None:
        return ByNats(problem=f"NATS cannot have a consumer of its own for the topic {topic!r}.")
    try:
        facts = ask_for_consumer(settings.NATS_URL, REQUESTS, names.requests, timeout=_NATS_SECONDS)
    except (NatsUnavailable, NatsRefused):
        return ByNats(
            problem="NATS does not answer the control plane, so the way of requests is not known."
            " Look at the system status."
        )
    if facts is None or facts.filter_subject != topic:
        return ByNats()
    return ByNats(Consumer(facts.pending, facts.ack_pending, is_listening=facts.waiting > 0))
