"""The decision over all documents: every claim gets a verdict, and only what lost is dropped. Pure.

It depends on documents, ownership, policy and history alone, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from registry.agent_configs.claims import (
    Claim,
    ClaimKind,
    DocumentId,
    Naming,
    Published,
    agent_claims,
    default_claims,
    task_claims,
)
from registry.agent_configs.contests import Contest, Simultaneous
from registry.agent_configs.dialects import Dialect
from registry.agent_configs.grants import Ownership
from registry.agent_configs.history import History
from registry.agent_configs.limits import BUILT_IN_TASK_TYPES
from registry.agent_configs.observations import Observation, observed
from registry.agent_configs.task_types import is_reserved
from registry.agent_configs.verdicts import Reason, Verdict


@dataclass(frozen=True, slots=True)
class Policy:
    """How claims are judged for a data plane.

    flag: who loses waits for a review. strict_endpoints: two teams cannot share an endpoint.
    """

    naming: Naming = field(default_factory=Naming)
    reserved_task_types: frozenset[str] = BUILT_IN_TASK_TYPES
    simultaneous: Simultaneous = Simultaneous.OLDEST_WINS
    flag: bool = False
    strict_endpoints: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict for every claim, by document and key; and what else is worth saying."""

    verdicts: tuple[Verdict, ...] = ()
    observations: tuple[Observation, ...] = ()

    @property
    def accepted(self) -> tuple[Claim, ...]:
        return tuple(one.claim for one in self.verdicts if one.accepted)

    @property
    def dropped(self) -> tuple[Verdict, ...]:
        return tuple(one for one in self.verdicts if not one.accepted)

    @property
    def reviews(self) -> tuple[Verdict, ...]:
        return tuple(one for one in self.verdicts if one.needs_review)

    def newly_dropped(self, before: Decision, document: DocumentId) -> tuple[Verdict, ...]:
        """What a document lost since: an admission that denies these never denies a change for the better."""
        lost = {one.claim.key for one in before.of(document) if not one.accepted}
        return tuple(one for one in self.of(document) if not one.accepted and one.claim.key not in lost)

    def of(self, document: DocumentId) -> tuple[Verdict, ...]:
        return tuple(one for one in self.verdicts if one.claim.document == document)


def decide(
    documents: Iterable[Published],
    ownership: Ownership | None = None,
    history: History | None = None,
    policy: Policy | None = None,
) -> Decision:
    """Decide about every claim of every document."""
    policy = policy or Policy()
    found = sorted((one for one in documents if one.content), key=lambda one: one.id)
    contest = Contest(
        ownership or Ownership(),
        history or {},
        {one.id: one.created_at for one in found},
        policy.simultaneous,
        policy.flag,
    )
    verdicts = _Deciding(found, contest, policy).verdicts()
    return Decision(tuple(sorted(verdicts, key=lambda one: one.claim.order)), observed(found, policy.naming))


@dataclass(slots=True)
class _Deciding:
    """One decision under way."""

    documents: Sequence[Published]
    contest: Contest
    policy: Policy
    # Verdicts about agents, by team and id: a team's documents may refer to each other's agents.
    agents: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    own_agents: dict[tuple[DocumentId, str], Verdict] = field(default_factory=dict)

    def verdicts(self) -> list[Verdict]:
        agents = self._agents()
        for verdict in agents:
            claim = verdict.claim
            self.own_agents[claim.document, claim.agent] = verdict
            known = self.agents.get((claim.team, claim.agent))
            if known is None or verdict.accepted:
                self.agents[claim.team, claim.agent] = verdict
        tasks = self._tasks()
        return [*agents, *tasks, *self._defaults(tasks)]

    def _agents(self) -> list[Verdict]:
        claims = [claim for one in self._served() for claim in agent_claims(one, self.policy.naming)]
        found = list(self.contest.verdicts(claims, Reason.AGENT_NAME_CONFLICT))
        if self.policy.strict_endpoints:
            found = list(self._without_shared_endpoints(found))
        return [*found, *self._unsupported()]

    def _without_shared_endpoints(self, verdicts: list[Verdict]) -> Iterator[Verdict]:
        """Agents of a team that has no right to their endpoint are dropped too."""
        endpoints = _endpoints(self.documents, self.policy.naming)
        accepted = [one.claim for one in verdicts if one.accepted]
        # Within a team an endpoint may be shared. Among teams it may not, not even by equal claims: when one
        # of those goes, the other would meet its team's next agent as a stranger.
        first: dict[str, Claim] = {}
        for claim in sorted(accepted, key=self.contest.rank):
            first.setdefault(endpoints[claim.order], claim)
        for verdict in verdicts:
            winner = first.get(endpoints[verdict.claim.order]) if verdict.accepted else None
            if winner is None or winner.team == verdict.claim.team:
                yield verdict
            else:
                because = self.contest.because(winner, verdict.claim)
                yield Verdict(verdict.claim, Reason.ENDPOINT_CONFLICT, winner, because, self.policy.flag)

    def _tasks(self) -> list[Verdict]:
        claims = [claim for one in self._served() for claim in task_claims(one, self.policy.naming)]
        barred = {one.order: verdict for one in claims if (verdict := self._barred(one))}
        contenders = [one for one in claims if one.agent and one.order not in barred]
        found = [*barred.values(), *self.contest.verdicts(contenders, Reason.TASK_TYPE_CONFLICT)]
        accepted = [one.claim for one in found if one.accepted]
        references = [one for one in claims if not one.agent and one.order not in barred]
        return [*found, *(_reference(one, accepted) for one in references)]

    def _barred(self, claim: Claim) -> Verdict | None:
        """Why a claim does not even take part."""
        if is_reserved(claim.key.name, self.policy.reserved_task_types):
            return Verdict(claim, Reason.RESERVED_TASK_TYPE)
        if not self.contest.ownership.allows(claim):
            return Verdict(claim, Reason.NOT_OWNED)
        if not claim.agent:
            return None
        agent = self.own_agents.get((claim.document, claim.agent))
        agent = agent or self.agents.get((claim.team, claim.agent))
        if agent is None:
            return Verdict(claim, Reason.UNKNOWN_AGENT)
        if agent.accepted:
            return None
        return replace(agent, claim=claim)

    def _defaults(self, tasks: Iterable[Verdict]) -> Iterator[Verdict]:
        served = {(one.claim.team, one.claim.key.name.lower()) for one in tasks if one.accepted}
        for one in self._served():
            for claim in default_claims(one):
                is_served = (claim.team, claim.key.name) in served
                yield Verdict(claim, Reason.ACCEPTED if is_served else Reason.NOBODY_SERVES)

    def _served(self) -> list[Published]:
        return [one for one in self.documents if one.canary is None or self._can_pin()]

    def _unsupported(self) -> Iterator[Verdict]:
        naming = self.policy.naming
        for one in self.documents:
            if one.canary and not self._can_pin():
                for claim in (*agent_claims(one, naming), *task_claims(one, naming), *default_claims(one)):
                    yield Verdict(claim, Reason.CANARY_UNSUPPORTED)

    def _can_pin(self) -> bool:
        return self.policy.naming.dialect is Dialect.CONNECTOR_V2


def _reference(claim: Claim, accepted: Iterable[Claim]) -> Verdict:
    """A claim without an agent holds if another document of the team serves the type."""
    for one in accepted:
        if one.team == claim.team and one.key.name == claim.key.name:
            return Verdict(claim, Reason.ACCEPTED)
    return Verdict(claim, Reason.NOBODY_SERVES)


def _endpoints(documents: Iterable[Published], naming: Naming) -> Mapping[object, str]:
    return {
        claim.order: deployment.endpoint.lower()
        for one in documents
        if one.content
        for claim, deployment in zip(agent_claims(one, naming), one.content.agents.values(), strict=True)
    }


def is_remembered(claim: Claim) -> bool:
    """True for claims that have an age; defaults, and claims without an agent, follow others."""
    return claim.key.kind is ClaimKind.AGENT or (claim.key.kind is ClaimKind.TASK_TYPE and bool(claim.agent))
