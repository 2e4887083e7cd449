"""One complete configuration for a data plane, made of all claims that were accepted. Pure.

A `Bundle` says what is meant; `rendering` writes it down, and its hash is that of what is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.claims.decide import Decision
from registry.agent_configs.claims.verdicts import Reason, Verdict
from registry.agent_configs.documents.content import Deployment, Operation
from registry.agent_configs.documents.published import Canary, Claim, ClaimKind, DocumentId, Published


@dataclass(frozen=True, slots=True)
class Route:
    """Who serves a task type. mapped: False where the data plane must discover it."""

    task_type: str
    agent: str
    team: str
    document: DocumentId
    version: int = 0
    pin: str = ""
    mapped: bool = True

    @property
    def name(self) -> tuple[str, int, str]:
        return (self.task_type, self.version, self.pin)


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent with everything said: nothing is left to the zero values of Flyte."""

    id: str
    deployment: Deployment
    team: str
    canary: Canary | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """A document that took part, and in which generation."""

    document: DocumentId
    generation: int
    digest: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a data plane shall be told. agents by id, routes by name, both sorted.

    written: what `rendering` made of it. A bundle never changes, so that is made once.
    """

    target: Target
    agents: Mapping[str, Agent] = field(default_factory=dict)
    routes: tuple[Route, ...] = ()
    defaults: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    dropped: tuple[Verdict, ...] = ()
    written: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def supported(self) -> tuple[str, ...]:
        """Names for supportedTaskTypes: never none, because Flyte's plugin registry panics without."""
        names = sorted({one.task_type for one in self.routes})
        return tuple(names) or self.target.placeholders or self.target.words.placeholders

    @property
    def mappings(self) -> dict[str, str]:
        return {one.task_type: one.agent for one in self.routes if one.mapped}

    def documents(self) -> frozenset[DocumentId]:
        return frozenset(one.document for one in self.inputs)


def build(documents: Iterable[Published], decision: Decision, target: Target) -> Bundle:
    """Put together what was decided. The decision must be made in the target's dialect."""
    found = {one.id: one for one in documents if one.content}
    # Winners first: what is shared is told as theirs.
    verdicts = sorted(decision.verdicts, key=lambda one: one.reason is Reason.SHARED_IDENTICAL)
    accepted = tuple(one.claim for one in verdicts if one.accepted)
    routes = _routes(found, accepted, target)
    agents = _agents(found, accepted, target)
    defaults = {one.key.name for one in accepted if one.key.kind is ClaimKind.DEFAULT}
    robbed = _robbed(decision, routes)
    taking_part = {
        one.document for one in accepted if one.key.kind is not ClaimKind.AGENT or one.agent not in robbed
    }
    return Bundle(
        target,
        {name: one for name, one in agents.items() if name not in robbed},
        routes,
        tuple(sorted(defaults)) if target.runs_agents else (),
        tuple(_input(found[one]) for one in sorted(taking_part)),
        decision.dropped,
    )


def _routes(
    found: Mapping[DocumentId, Published], accepted: Iterable[Claim], target: Target
) -> tuple[Route, ...]:
    routes: dict[tuple[str, int, str], Route] = {}
    for claim in accepted:
        if claim.key.kind is ClaimKind.TASK_TYPE and claim.agent:
            key = claim.key
            facts = found[claim.document].facts_of(key.name)
            mapped = target.maps(facts, pinned=bool(key.pin))
            route = Route(key.name, claim.agent, claim.team, claim.document, key.version, key.pin, mapped)
            shared = routes.get(route.name, route)
            # Of documents that share a type, one may know that it is sync.
            routes[route.name] = replace(shared, mapped=shared.mapped and mapped)
    return tuple(routes[name] for name in sorted(routes))


def _agents(
    found: Mapping[DocumentId, Published], accepted: Iterable[Claim], target: Target
) -> dict[str, Agent]:
    agents: dict[str, Agent] = {}
    for claim in accepted:
        document = found[claim.document]
        if claim.key.kind is ClaimKind.AGENT and document.content:
            deployment = _complete(document.content.agents[claim.local_id], target)
            agents.setdefault(claim.agent, Agent(claim.agent, deployment, claim.team, document.canary))
    return dict(sorted(agents.items()))


def _complete(deployment: Deployment, target: Target) -> Deployment:
    """With every timeout said: without one, a hung agent can keep propeller from starting."""
    timeouts = {Operation.LIST: target.list_timeout, **deployment.timeouts}
    # A document from before the limit may have more.
    timeouts[Operation.LIST] = min(timeouts[Operation.LIST], target.longest_list_timeout)
    return replace(
        deployment,
        default_timeout=deployment.default_timeout or target.default_timeout,
        timeouts=dict(sorted(timeouts.items())),
    )


def _robbed(decision: Decision, routes: Iterable[Route]) -> frozenset[str]:
    """Agents that lost every task type they claimed: discovery would give back what they lost."""
    served = {one.agent for one in routes}
    claimed = {one.claim.agent for one in decision.verdicts if one.claim.key.kind is ClaimKind.TASK_TYPE}
    return frozenset(claimed - served)


def _input(one: Published) -> Input:
    return Input(one.id, one.generation, one.content.digest if one.content else "")
