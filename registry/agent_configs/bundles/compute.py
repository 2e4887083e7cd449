"""From all documents to one data plane's bundle, in one call. Pure: equal arguments, equal answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from registry.agent_configs.bundles.bundle import Bundle, build
from registry.agent_configs.bundles.differences import BundleDifference, difference
from registry.agent_configs.bundles.gates import Gates, Held, held_by
from registry.agent_configs.bundles.rendering import digest
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.bundles.team_parts import Division, Parts, divided, left_out
from registry.agent_configs.claims.decide import Decision, Policy, decide, is_remembered
from registry.agent_configs.claims.grants import Ownership
from registry.agent_configs.claims.history import GRACE, History, fresh, remembered
from registry.agent_configs.documents.published import DocumentId, Published


@dataclass(frozen=True, slots=True)
class World:
    """Everything that a recompute depends on.

    documents: as their teams publish them. instead: what this data plane is given in place of some of them.
    parts: each team's documents as they were last put in force. active: the bundle in force.
    approved: digests of bundles and of parts, by people; rejected: of bundles, by the data plane.
    """

    documents: Collection[Published]
    target: Target
    ownership: Ownership = field(default_factory=Ownership)
    history: History = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    gates: Gates = field(default_factory=Gates)
    active: Bundle | None = None
    approved: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    grace: timedelta = GRACE
    waits_for: tuple[str, ...] = ()
    parts: Parts = field(default_factory=dict)
    instead: Mapping[DocumentId, Published] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recomputed:
    """The next bundle. held: why it is not to be given out; then `history` is as if nothing was given out.

    division: what each team contributes, and changes of single teams that wait. documents: that count.
    """

    bundle: Bundle
    decision: Decision
    difference: BundleDifference
    held: tuple[Held, ...]
    history: History
    division: Division
    documents: tuple[Published, ...] = ()


def recompute(world: World, *, now: datetime) -> Recomputed:
    """Decide, build, compare and check. A preview is the same, and keeps nothing of it."""
    history = fresh(world.history, now=now, grace=world.grace)
    division = divided(
        world.documents,
        world.parts,
        world.active,
        world.target,
        policy=world.policy,
        gates=world.gates,
        approved=world.approved,
    )
    documents = _given(world, division.documents)
    decision, bundle = _decided(world, documents, history)
    holds = held_by(
        bundle,
        world.active,
        world.gates,
        world.approved,
        world.rejected,
        waits_for=world.waits_for,
        leaving=division.leaving | left_out(division.documents, world.instead, world.target, world.policy),
        is_approved_by_team=world.gates.approval_required and _is_of_teams(world, division, history),
    )
    return Recomputed(
        bundle,
        decision,
        difference(world.active, bundle),
        holds,
        _remembered(history, decision, now=now, activated=not holds),
        division,
        documents,
    )


def _given(world: World, documents: Iterable[Published]) -> tuple[Published, ...]:
    return tuple(world.instead.get(document.id, document) for document in documents)


def _decided(world: World, documents: Collection[Published], history: History) -> tuple[Decision, Bundle]:
    naming = replace(world.policy.naming, dialect=world.target.dialect)
    decision = decide(documents, world.ownership, history, replace(world.policy, naming=naming))
    return decision, build(documents, decision, world.target)


def _is_of_teams(world: World, division: Division, history: History) -> bool:
    """True if only parts of teams change: with the parts as they were, the bundle is the one in force."""
    if world.active is None or division.parts == world.parts:
        return False
    as_it_was = _given(world, (document for part in world.parts.values() for document in part))
    return digest(_decided(world, as_it_was, history)[1]) == digest(world.active)


def _remembered(history: History, decision: Decision, *, now: datetime, activated: bool) -> History:
    accepted = [claim for claim in decision.accepted if is_remembered(claim)]
    dropped = [verdict.claim for verdict in decision.dropped if is_remembered(verdict.claim)]
    accepted += [verdict.claim for verdict in decision.endpoints if verdict.accepted]
    dropped += [verdict.claim for verdict in decision.endpoints if not verdict.accepted]
    return remembered(history, accepted, dropped, now=now, activated=activated)
