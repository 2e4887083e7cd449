"""What is known of endpoints, as documents are told it."""

from __future__ import annotations

from collections.abc import Mapping

from registry.agent_configs.conditions import Probe
from registry.agent_configs.content import Content
from registry.reachability import policies
from registry.reachability.judging import NEVER, Outcome, together
from registry.reachability.rows import AgentEndpoint

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
    keys = {(one.endpoint, one.insecure) for one in content.agents.values()}
    return together([outcomes.get(key, NEVER.outcome) for key in sorted(keys)])
