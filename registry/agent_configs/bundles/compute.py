"""Compute a data plane's bundle from all documents in one call; equal inputs give equal results. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from registry.agent_configs.bundles.bundle import Bundle, build_bundle
from registry.agent_configs.bundles.differences import BundleDifference, compare_bundles
from registry.agent_configs.bundles.gates import GateLimits, Hold, find_holds
from registry.agent_configs.bundles.rendering import bundle_digest
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.bundles.team_parts import Division, Parts, divide_by_team, find_excluded_names
from registry.agent_configs.claims.decide import ClaimPolicy, Decision, decide, is_remembered
from registry.agent_configs.claims.grants import Ownership
from registry.agent_configs.claims.history import GRACE, History, drop_expired, update_history
from registry.agent_configs.documents.published import DocumentId, PublishedDocument


@dataclass(frozen=True, slots=True)
class RecomputeInputs:
    """All inputs of a recompute.

    documents: as their teams publish them. substitutions: documents that this data plane gets instead.
    parts: each team's documents as last activated. active: the active bundle.
    approved: digests of bundles and parts that people approved; rejected: of bundles, by the data plane.
    """

    documents: Collection[PublishedDocument]
    target: Target
    ownership: Ownership = field(default_factory=Ownership)
    history: History = field(default_factory=dict)
    policy: ClaimPolicy = field(default_factory=ClaimPolicy)
    gates: GateLimits = field(default_factory=GateLimits)
    active: Bundle | None = None
    approved: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    grace: timedelta = GRACE
    waits_for: tuple[str, ...] = ()
    parts: Parts = field(default_factory=dict)
    substitutions: Mapping[DocumentId, PublishedDocument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecomputeResult:
    """The next bundle. holds: why it is not activated; `history` then ignores it.

    division: what each team contributes, and held changes of single teams. documents: those in the bundle.
    """

    bundle: Bundle
    decision: Decision
    difference: BundleDifference
    holds: tuple[Hold, ...]
    history: History
    division: Division
    documents: tuple[PublishedDocument, ...] = ()


def recompute(inputs: RecomputeInputs, *, now: datetime) -> RecomputeResult:
    """Decide, build, compare and check. A preview calls this too, and stores nothing."""
    history = drop_expired(inputs.history, now=now, grace=inputs.grace)
    division = divide_by_team(
        inputs.documents,
        inputs.parts,
        inputs.active,
        inputs.target,
        policy=inputs.policy,
        gates=inputs.gates,
        approved=inputs.approved,
    )
    documents = _substitute(inputs, division.documents)
    decision, bundle = _decide_and_build(inputs, documents, history)
    holds = find_holds(
        bundle,
        inputs.active,
        inputs.gates,
        inputs.approved,
        inputs.rejected,
        waits_for=inputs.waits_for,
        leaving=division.leaving
        | find_excluded_names(division.documents, inputs.substitutions, inputs.target, inputs.policy),
        is_approved_by_team=inputs.gates.approval_required
        and _changes_only_team_parts(inputs, division, history),
    )
    return RecomputeResult(
        bundle,
        decision,
        compare_bundles(inputs.active, bundle),
        holds,
        _update_history(history, decision, now=now, activated=not holds),
        division,
        documents,
    )


def _substitute(
    inputs: RecomputeInputs, documents: Iterable[PublishedDocument]
) -> tuple[PublishedDocument, ...]:
    return tuple(inputs.substitutions.get(document.id, document) for document in documents)


def _decide_and_build(
    inputs: RecomputeInputs, documents: Collection[PublishedDocument], history: History
) -> tuple[Decision, Bundle]:
    naming = replace(inputs.policy.naming, dialect=inputs.target.dialect)
    decision = decide(documents, inputs.ownership, history, replace(inputs.policy, naming=naming))
    return decision, build_bundle(documents, decision, inputs.target)


def _changes_only_team_parts(inputs: RecomputeInputs, division: Division, history: History) -> bool:
    """True if only parts of teams change: with the previous parts, the bundle equals the active one."""
    if inputs.active is None or division.parts == inputs.parts:
        return False
    as_it_was = _substitute(inputs, (document for part in inputs.parts.values() for document in part))
    return bundle_digest(_decide_and_build(inputs, as_it_was, history)[1]) == bundle_digest(inputs.active)


def _update_history(history: History, decision: Decision, *, now: datetime, activated: bool) -> History:
    accepted = [claim for claim in decision.accepted if is_remembered(claim)]
    dropped = [verdict.claim for verdict in decision.dropped if is_remembered(verdict.claim)]
    accepted += [verdict.claim for verdict in decision.endpoints if verdict.accepted]
    dropped += [verdict.claim for verdict in decision.endpoints if not verdict.accepted]
    return update_history(history, accepted, dropped, now=now, activated=activated)
