"""Decide all claims of all documents; only losing claims are dropped. Pure.

The result depends only on documents, ownership, policy and history, not on their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from registry.agent_configs.claims.contests import Contest, TieRule
from registry.agent_configs.claims.grants import Ownership
from registry.agent_configs.claims.history import History
from registry.agent_configs.claims.observations import Observation, find_observations
from registry.agent_configs.claims.verdicts import Reason, Verdict
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.documents.limits import BUILT_IN_TASK_TYPES
from registry.agent_configs.documents.published import (
    Claim,
    ClaimKey,
    ClaimKind,
    DocumentId,
    Naming,
    PublishedDocument,
    agent_claims,
    default_claims,
    endpoint_claims,
    task_claims,
)
from registry.agent_configs.documents.task_type_names import is_reserved


@dataclass(frozen=True, slots=True)
class ClaimPolicy:
    """How claims are decided for a data plane.

    flag: losing claims need a review. strict_endpoints: two teams cannot share an endpoint.
    """

    naming: Naming = field(default_factory=Naming)
    reserved_task_types: frozenset[str] = BUILT_IN_TASK_TYPES
    tie_rule: TieRule = TieRule.OLDEST_WINS
    flag: bool = False
    strict_endpoints: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict for every claim, by document and key, with further observations.

    endpoints: verdicts on endpoints of agents that won their ID; the history records them. An agent that
    loses its endpoint also has a verdict with that reason.
    """

    verdicts: tuple[Verdict, ...] = ()
    observations: tuple[Observation, ...] = ()
    endpoints: tuple[Verdict, ...] = ()

    @property
    def accepted(self) -> tuple[Claim, ...]:
        return tuple(verdict.claim for verdict in self.verdicts if verdict.accepted)

    @property
    def dropped(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if not verdict.accepted)

    @property
    def reviews(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.needs_review)

    def newly_dropped(self, before: Decision, document: DocumentId) -> tuple[Verdict, ...]:
        """Return the claims a document newly loses. Denying only these never denies an improvement."""
        lost = {verdict.claim.key for verdict in before.of(document) if not verdict.accepted}
        return tuple(
            verdict for verdict in self.of(document) if not verdict.accepted and verdict.claim.key not in lost
        )

    def of(self, document: DocumentId) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.claim.document == document)


def decide(
    documents: Iterable[PublishedDocument],
    ownership: Ownership | None = None,
    history: History | None = None,
    policy: ClaimPolicy | None = None,
) -> Decision:
    """Decide every claim of every document."""
    policy = policy or ClaimPolicy()
    publishable = sorted(
        (document for document in documents if document.content), key=lambda document: document.id
    )
    contest = Contest(
        ownership or Ownership(),
        history or {},
        {document.id: document.created_at for document in publishable},
        policy.tie_rule,
        policy.flag,
    )
    deciding = _Decider(publishable, contest, policy)
    verdicts = sorted(deciding.verdicts(), key=lambda verdict: verdict.claim.order)
    return Decision(tuple(verdicts), find_observations(publishable, policy.naming), tuple(deciding.endpoints))


@dataclass(slots=True)
class _Decider:
    """The state of one decision."""

    documents: Sequence[PublishedDocument]
    contest: Contest
    policy: ClaimPolicy
    # Verdicts on agents by team and ID: a team's documents may refer to each other's agents.
    agents: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    own_agents: dict[tuple[DocumentId, str], Verdict] = field(default_factory=dict)
    endpoints: list[Verdict] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        agents = self._decide_agents()
        for verdict in agents:
            claim = verdict.claim
            self.own_agents[claim.document, claim.agent] = verdict
            recorded = self.agents.get((claim.team, claim.agent))
            if recorded is None or verdict.accepted:
                self.agents[claim.team, claim.agent] = verdict
        tasks = self._decide_task_types()
        return [*agents, *tasks, *self._decide_defaults(tasks)]

    def _decide_agents(self) -> list[Verdict]:
        claims = [
            claim
            for document in self._supported_documents()
            for claim in agent_claims(document, self.policy.naming)
        ]
        verdicts = list(self.contest.verdicts(claims, Reason.AGENT_NAME_CONFLICT))
        return [*self._with_endpoints(verdicts), *self._reject_canaries()]

    def _with_endpoints(self, verdicts: list[Verdict]) -> Iterator[Verdict]:
        """Drop agents whose endpoint another team owns: Flyte keeps one connection, with either's settings.

        Another team may share the endpoint with equal settings, unless endpoints are strict.
        """
        claims = {
            (claim.document, claim.agent): claim
            for document in self._supported_documents()
            for claim in endpoint_claims(document, self.policy.naming)
        }
        owners: dict[ClaimKey, Claim] = {}
        accepted = [
            claims[verdict.claim.document, verdict.claim.agent] for verdict in verdicts if verdict.accepted
        ]
        for claim in sorted(accepted, key=self.contest.rank):
            owners.setdefault(claim.key, claim)
        for verdict in verdicts:
            if not verdict.accepted:
                yield verdict
                continue
            claim = claims[verdict.claim.document, verdict.claim.agent]
            reason = self._endpoint_reason(claim, owners[claim.key])
            if reason is None:
                self.endpoints.append(Verdict(claim, Reason.ACCEPTED))
                yield verdict
            else:
                lost = self._build_rejection(claim, owners[claim.key], reason)
                self.endpoints.append(lost)
                yield replace(lost, claim=verdict.claim)

    def _endpoint_reason(self, claim: Claim, owner: Claim) -> Reason | None:
        if claim.team == owner.team:
            return None
        if self.policy.strict_endpoints:
            # Even equal claims: once the owner's agent is gone, its next one would conflict with this claim.
            return Reason.ENDPOINT_CONFLICT
        return None if claim.digest == owner.digest else Reason.ENDPOINT_SETTINGS_MISMATCH

    def _build_rejection(self, claim: Claim, owner: Claim, reason: Reason) -> Verdict:
        return Verdict(claim, reason, owner, self.contest.deciding_rule(owner, claim), self.policy.flag)

    def _decide_task_types(self) -> list[Verdict]:
        claims = [
            claim
            for document in self._supported_documents()
            for claim in task_claims(document, self.policy.naming)
        ]
        barred = {claim.order: verdict for claim in claims if (verdict := self._find_disqualification(claim))}
        contenders = [claim for claim in claims if claim.agent and claim.order not in barred]
        verdicts = [*barred.values(), *self.contest.verdicts(contenders, Reason.TASK_TYPE_CONFLICT)]
        accepted = [verdict.claim for verdict in verdicts if verdict.accepted]
        references = [claim for claim in claims if not claim.agent and claim.order not in barred]
        return [*verdicts, *(_decide_reference(claim, accepted) for claim in references)]

    def _find_disqualification(self, claim: Claim) -> Verdict | None:
        """Return the verdict on a claim that is excluded from the contest, or None."""
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

    def _decide_defaults(self, tasks: Iterable[Verdict]) -> Iterator[Verdict]:
        served = {
            (verdict.claim.team, verdict.claim.key.name.lower()) for verdict in tasks if verdict.accepted
        }
        for document in self._supported_documents():
            for claim in default_claims(document):
                is_served = (claim.team, claim.key.name) in served
                yield Verdict(claim, Reason.ACCEPTED if is_served else Reason.NOBODY_SERVES)

    def _supported_documents(self) -> list[PublishedDocument]:
        return [document for document in self.documents if document.canary is None or self._can_pin()]

    def _reject_canaries(self) -> Iterator[Verdict]:
        naming = self.policy.naming
        for document in self.documents:
            if document.canary and not self._can_pin():
                for claim in (
                    *agent_claims(document, naming),
                    *task_claims(document, naming),
                    *default_claims(document),
                ):
                    yield Verdict(claim, Reason.CANARY_UNSUPPORTED)

    def _can_pin(self) -> bool:
        return self.policy.naming.dialect is Dialect.CONNECTOR_V2


def _decide_reference(claim: Claim, accepted: Iterable[Claim]) -> Verdict:
    """Accept a claim without an agent if another document of the team serves the type."""
    for other in accepted:
        if other.team == claim.team and other.key.name == claim.key.name:
            return Verdict(claim, Reason.ACCEPTED)
    return Verdict(claim, Reason.NOBODY_SERVES)


def is_remembered(claim: Claim) -> bool:
    """True for claims in the history; defaults and claims without an agent follow other claims."""
    return claim.key.kind is ClaimKind.AGENT or (claim.key.kind is ClaimKind.TASK_TYPE and bool(claim.agent))
