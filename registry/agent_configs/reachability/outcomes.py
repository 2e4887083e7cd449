"""What is known of endpoints, as documents are told it."""

from __future__ import annotations

from collections.abc import Mapping

from registry.agent_configs.bundles.conditions import Probe
from registry.agent_configs.documents.content import Content
from registry.agent_configs.reachability import policies
from registry.agent_configs.reachability.judge import NEVER, Outcome, together
from registry.agent_configs.reachability.models import AgentEndpoint

Outcomes = Mapping[tuple[str, bool], Outcome]


def load_outcomes() -> Outcomes | None:
    """What is known of each endpoint; None while nobody asks."""
    if not policies.are_wanted():
        return None
    rows = AgentEndpoint.objects.exclude(checked_at=None)
    return {(row.endpoint, row.insecure): row.outcome for row in rows}


def probe_of(content: Content | None, outcomes: Outcomes | None) -> Probe | None:
    """Of all agents that a document has; None of one that has none, and while nothing is probed."""
    if content is None or outcomes is None:
        return None
    keys = {(agent.endpoint, agent.insecure) for agent in content.agents.values()}
    return together([outcomes.get(key, NEVER.outcome) for key in sorted(keys)])
