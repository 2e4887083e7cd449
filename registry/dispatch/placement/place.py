"""Place a loaded resource: find an agent for it now, or note why there is none.

The operator's placement policy is consulted before the resource's row is locked (`rule_on_request`,
`rule_on_stored`), so that nobody waits for it. What is placed without a ruling waits for the sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from controlplane.access.team_models import Team
from controlplane.scopes import Scope
from registry.dispatch import storage
from registry.dispatch.lifecycle.intents import assign, leave_unplaced
from registry.dispatch.lifecycle.records import Change, Resource
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.models import ResourceRow
from registry.dispatch.placement import policy_hook
from registry.dispatch.placement.candidates import Placement, Requirements, Ruling
from registry.dispatch.placement.choose import choose
from registry.dispatch.placement.load_candidates import load_candidates
from registry.dispatch.resource_events import scope_of
from registry.dispatch.storage import Loaded

_PLACED_FROM = (ResourceState.PENDING.value, ResourceState.QUEUED.value)


def find_agent(loaded: Loaded, resource: Resource, ruling: Ruling | None = None) -> Placement:
    """Choose an agent for the resource as it is after a step."""
    if ruling is None and policy_hook.has_policy():
        ruling = policy_hook.NOT_CONSULTED
    requirements = requirements_of(loaded.row, resource)
    return choose(requirements, load_candidates(requirements), ruling)


def place_if_needed(loaded: Loaded, change: Change, ruling: Ruling | None = None) -> Change:
    """Complete a change that wants an agent."""
    if not change.places:
        return change
    placement = find_agent(loaded, change.resource, ruling)
    if placement.chosen is None:
        return change.then(leave_unplaced(change.resource, placement.reason, now=loaded.now))
    return change.then(assign(change.resource, placement.chosen.ref, placement.reason, now=loaded.now))


def requirements_of(row: ResourceRow, resource: Resource) -> Requirements:
    attempts = resource.assignments
    return Requirements(
        resource.service_type,
        row.team_id,
        **constraint_members(row.constraints),
        excluded=frozenset(attempt.agent.id for attempt in attempts if not attempt.settled),
        avoided=frozenset(attempt.agent.id for attempt in attempts if attempt.settled),
        key=row.id,
        tries=resource.placement_tries,
    )


def constraint_members(constraints: Mapping[str, str]) -> dict[str, Any]:
    return {name: constraints.get(name, "") for name in ("environment", "agent", "selector")}


def rule_on_stored(resource_id: str) -> Ruling | None:
    """Consult the policy on a stored resource that may need an agent; None without a policy."""
    if not policy_hook.has_policy():
        return None
    row = ResourceRow.objects.filter(id=resource_id, state__in=_PLACED_FROM).first()
    return None if row is None else rule_on_row(row, requirements_of(row, storage.load(row).resource))


def rule_on_row(row: ResourceRow, requirements: Requirements) -> Ruling | None:
    """Consult the policy on a stored resource; None without a policy."""
    if not policy_hook.has_policy():
        return None
    scope = scope_of(row)
    facts = policy_facts(scope, row.team_id, row.constraints, row.labels, spec=row.spec, id=row.id)
    return rule(requirements, facts)


def rule(requirements: Requirements, facts: Mapping[str, Any]) -> Ruling | None:
    """Consult the policy on the agents that can take a resource; None without a policy.

    facts: of the resource, as the policy gets them.
    """
    if not policy_hook.has_policy():
        return None
    candidates = load_candidates(requirements)
    able = {verdict.agent.id for verdict in choose(requirements, candidates).verdicts if not verdict.refusals}
    if not able:
        return Ruling(frozenset())
    resource = {"service_type": requirements.service_type, **facts}
    return policy_hook.consult(resource, [candidate for candidate in candidates if candidate.ref.id in able])


def policy_facts(
    scope: Scope,
    team_id: UUID | None,
    constraints: Mapping[str, str],
    labels: Mapping[str, str],
    **more: Any,
) -> dict[str, Any]:
    """Return a resource as the policy gets it."""
    team = Team.objects.filter(id=team_id).values_list("slug", flat=True).first() if team_id else None
    return {**scope.segments, "team": team, "placement": constraints, "labels": labels, **more}
