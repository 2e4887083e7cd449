"""Outcomes of endpoints, combined per document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from registry.agent_configs.bundles.conditions import TASK_TYPE_NOT_SERVED, ProbeResult
from registry.agent_configs.documents.content import Content
from registry.agent_configs.reachability import policies
from registry.agent_configs.reachability.judge import NEVER_PROBED, Outcome, combine_outcomes
from registry.agent_configs.reachability.models import AgentEndpoint
from registry.agent_configs.reachability.served_types import describe_missing, types_not_served

Outcomes = Mapping[tuple[str, bool], Outcome]


def load_outcomes() -> Outcomes | None:
    """Load the outcome of each endpoint; None while probes are off."""
    if not policies.probes_are_enabled():
        return None
    rows = AgentEndpoint.objects.exclude(checked_at=None)
    return {(row.endpoint, row.insecure): row.outcome for row in rows}


def probe_of(content: Content | None, outcomes: Outcomes | None) -> ProbeResult | None:
    """Return the combined result of a document's agents; None without agents or while probes are off."""
    if content is None or outcomes is None:
        return None
    keys = {(agent.endpoint, agent.insecure) for agent in content.agents.values()}
    result = combine_outcomes([outcomes.get(key, NEVER_PROBED.outcome) for key in sorted(keys)])
    if result is None or not result.reachable:
        return result
    reported = {key: outcome.reported for key, outcome in outcomes.items() if outcome.reported is not None}
    missing = types_not_served(content, reported)
    if not missing:
        return result
    return replace(result, reason=TASK_TYPE_NOT_SERVED, message=describe_missing(missing))
