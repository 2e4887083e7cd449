"""Which agent would get a resource now, and why not the others. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.dispatch import storage
from registry.dispatch.models import ResourceRow
from registry.dispatch.placement.candidates import AgentVerdict, Requirements, Ruling
from registry.dispatch.placement.choose import choose
from registry.dispatch.placement.load_candidates import load_pool
from registry.dispatch.placement.place import requirements_of, rule_on_row
from registry.dispatch.resources.requests import ResourceRequest, requirements_of_request, rule_on_request

_SAMPLED = " The fleet is large: only a sample of its agents was looked at."


@dataclass(frozen=True, slots=True)
class Explanation:
    """chosen: an agent's name; None if no agent can take it, or if the caller may not read the agent.

    verdicts: of the agents that the caller may read, the best first.
    """

    chosen: str | None
    reason: str
    verdicts: tuple[AgentVerdict, ...]


def explain_request(request: ResourceRequest, caller: Caller) -> Explanation:
    """Explain the placement of a request that is not sent yet. id: empty unless it is known."""
    return _explain(requirements_of_request(request), rule_on_request(request), caller)


def explain_resource(resource_id: str, caller: Caller) -> Explanation:
    """Explain where a resource would be placed now; its own agent may keep it. Raises UnknownResource."""
    row = ResourceRow.objects.of(caller).filter(id=resource_id).first()
    if row is None:
        raise storage.unknown_resource(resource_id)
    resource = storage.load(row).resource
    requirements = requirements_of(row, resource)
    if resource.current is not None:
        requirements = replace(requirements, excluded=requirements.excluded - {resource.current.agent.id})
    return _explain(requirements, rule_on_row(row, requirements), caller)


def _explain(requirements: Requirements, ruling: Ruling | None, caller: Caller) -> Explanation:
    readable = caller.owners_for(Action.AGENT_READ)
    pool = load_pool(requirements, explains=True, every_owner=readable.everything)
    placement = choose(requirements, pool.candidates, ruling)
    verdicts = tuple(verdict for verdict in placement.verdicts if readable.include(verdict.owner))
    sampled = _SAMPLED if pool.sampled else ""
    chosen = placement.chosen
    if chosen is not None and not readable.include(chosen.owner):
        return Explanation(None, f"An agent that you may not read would get it.{sampled}", verdicts)
    return Explanation(chosen.ref.name if chosen else None, placement.reason + sampled, verdicts)
