"""A bundle: one complete configuration for a data plane, built from all accepted claims. Pure.

A `Bundle` holds the content; `rendering` writes it as YAML, and its digest is that of the written document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.claims.decide import Decision
from registry.agent_configs.claims.verdicts import Reason, Verdict
from registry.agent_configs.documents.content import Deployment, Operation
from registry.agent_configs.documents.published import Canary, Claim, ClaimKind, DocumentId, PublishedDocument


@dataclass(frozen=True, slots=True)
class Route:
    """The agent that serves a task type. mapped: False where the data plane must discover it."""

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
    """One agent with all settings explicit, so that Flyte's zero values never apply."""

    id: str
    deployment: Deployment
    team: str
    canary: Canary | None = None


@dataclass(frozen=True, slots=True)
class BundleInput:
    """A document in a bundle, with its generation."""

    document: DocumentId
    generation: int
    digest: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """The configuration of a data plane. agents by id, routes by name, both sorted.

    rendered: a cache of what `rendering` produced; a bundle never changes.
    """

    target: Target
    agents: Mapping[str, Agent] = field(default_factory=dict)
    routes: tuple[Route, ...] = ()
    defaults: tuple[str, ...] = ()
    inputs: tuple[BundleInput, ...] = ()
    dropped: tuple[Verdict, ...] = ()
    rendered: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def supported(self) -> tuple[str, ...]:
        """Names for supportedTaskTypes; never empty, because Flyte's plugin registry panics without one."""
        names = sorted({route.task_type for route in self.routes})
        return tuple(names) or self.target.placeholders or self.target.names.placeholders

    @property
    def mappings(self) -> dict[str, str]:
        return {route.task_type: route.agent for route in self.routes if route.mapped}

    def documents(self) -> frozenset[DocumentId]:
        return frozenset(bundle_input.document for bundle_input in self.inputs)


def build_bundle(documents: Iterable[PublishedDocument], decision: Decision, target: Target) -> Bundle:
    """Build the bundle of a decision, which must be in the target's dialect."""
    by_id = {document.id: document for document in documents if document.content}
    # Winners first: a shared name is attributed to its winner.
    verdicts = sorted(decision.verdicts, key=lambda verdict: verdict.reason is Reason.SHARED_IDENTICAL)
    accepted = tuple(verdict.claim for verdict in verdicts if verdict.accepted)
    routes = _build_routes(by_id, accepted, target)
    agents = _build_agents(by_id, accepted, target)
    defaults = {claim.key.name for claim in accepted if claim.key.kind is ClaimKind.DEFAULT}
    unserved_agents = _agents_without_task_types(decision, routes)
    document_ids = {
        claim.document
        for claim in accepted
        if claim.key.kind is not ClaimKind.AGENT or claim.agent not in unserved_agents
    }
    return Bundle(
        target,
        {name: agent for name, agent in agents.items() if name not in unserved_agents},
        routes,
        tuple(sorted(defaults)) if target.runs_agents else (),
        tuple(_build_input(by_id[document_id]) for document_id in sorted(document_ids)),
        decision.dropped,
    )


def _build_routes(
    documents: Mapping[DocumentId, PublishedDocument], accepted: Iterable[Claim], target: Target
) -> tuple[Route, ...]:
    routes: dict[tuple[str, int, str], Route] = {}
    for claim in accepted:
        if claim.key.kind is ClaimKind.TASK_TYPE and claim.agent:
            key = claim.key
            facts = documents[claim.document].get_facts(key.name)
            mapped = target.maps(facts, pinned=bool(key.pin))
            route = Route(key.name, claim.agent, claim.team, claim.document, key.version, key.pin, mapped)
            shared = routes.get(route.name, route)
            # Of the documents that share a type, only one may declare that it is sync.
            routes[route.name] = replace(shared, mapped=shared.mapped and mapped)
    return tuple(routes[name] for name in sorted(routes))


def _build_agents(
    documents: Mapping[DocumentId, PublishedDocument], accepted: Iterable[Claim], target: Target
) -> dict[str, Agent]:
    agents: dict[str, Agent] = {}
    for claim in accepted:
        document = documents[claim.document]
        if claim.key.kind is ClaimKind.AGENT and document.content:
            deployment = _fill_timeouts(document.content.agents[claim.local_id], target)
            agents.setdefault(claim.agent, Agent(claim.agent, deployment, claim.team, document.canary))
    return dict(sorted(agents.items()))


def _fill_timeouts(deployment: Deployment, target: Target) -> Deployment:
    """Fill in every timeout: without one, a hung agent can stop propeller from starting."""
    timeouts = {Operation.LIST: target.list_timeout, **deployment.timeouts}
    # A document from before the limit may exceed it.
    timeouts[Operation.LIST] = min(timeouts[Operation.LIST], target.longest_list_timeout)
    return replace(
        deployment,
        default_timeout=deployment.default_timeout or target.default_timeout,
        timeouts=dict(sorted(timeouts.items())),
    )


def _agents_without_task_types(decision: Decision, routes: Iterable[Route]) -> frozenset[str]:
    """Return agents that lost all their task types; discovery would give these back to them."""
    served = {route.agent for route in routes}
    claimed = {
        verdict.claim.agent for verdict in decision.verdicts if verdict.claim.key.kind is ClaimKind.TASK_TYPE
    }
    return frozenset(claimed - served)


def _build_input(document: PublishedDocument) -> BundleInput:
    return BundleInput(document.id, document.generation, document.content.digest if document.content else "")
