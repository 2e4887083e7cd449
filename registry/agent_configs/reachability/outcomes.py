"""What is known of endpoints, as documents are told it."""

from __future__ import annotations

from collections.abc import Mapping

from registry.agent_configs.bundles.conditions import ProbeResult
from registry.agent_configs.documents.content import Content
from registry.agent_configs.reachability import policies
from registry.agent_configs.reachability.judge import NEVER_PROBED, Outcome, combine_outcomes
from registry.agent_configs.reachability.models import AgentEndpoint

Outcomes = Mapping[tuple[str, bool], Outcome]


def load_outcomes() -> Outcomes | None:
    """What is known of each endpoint; None while nobody asks."""
    if not policies.probes_are_enabled():
        return None
    rows = AgentEndpoint.objects.exclude(checked_at=None)
    return {(row.endpoint, row.insecure): row.outcome for row in rows}


def probe_of(content: Content | None, outcomes: Outcomes | None) -> ProbeResult | None:
    """Of all agents that a document has; None of one that has none, and while nothing is probed."""
    if content is None or outcomes is None:
        return None
    keys = {(agent.endpoint, agent.insecure) for agent in content.agents.values()}
    return combine_outcomes([outcomes.get(key, NEVER_PROBED.outcome) for key in sorted(keys)])
