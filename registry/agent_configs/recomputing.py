"""From all documents to one data plane's bundle, in one call. Pure: equal arguments, equal answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from registry.agent_configs.bundles import Bundle, build
from registry.agent_configs.claims import Published
from registry.agent_configs.deciding import Decision, Policy, decide, is_remembered
from registry.agent_configs.differences import BundleDifference, difference
from registry.agent_configs.gates import Gates, Held, held_by
from registry.agent_configs.grants import Ownership
from registry.agent_configs.history import GRACE, History, fresh, remembered
from registry.agent_configs.targets import Target


@dataclass(frozen=True, slots=True)
class World:
    """Everything that a recompute depends on.

    active: the bundle in force. approved, rejected: digests of bundles, by people and by the data plane.
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


@dataclass(frozen=True, slots=True)
class Recomputed:
    """The next bundle. held: why it is not to be given out; then `history` is as if nothing was given out."""

    bundle: Bundle
    decision: Decision
    difference: BundleDifference
    held: tuple[Held, ...]
    history: History


def recompute(world: World, *, now: datetime) -> Recomputed:
    """Decide, build, compare and check. A preview is the same, and keeps nothing of it."""
    naming = replace(world.policy.naming, dialect=world.target.dialect)
    history = fresh(world.history, now=now, grace=world.grace)
    decision = decide(world.documents, world.ownership, history, replace(world.policy, naming=naming))
    bundle = build(world.documents, decision, world.target)
    held = held_by(
        bundle, world.active, world.gates, world.approved, world.rejected, waits_for=world.waits_for
    )
    return Recomputed(
        bundle,
        decision,
        difference(world.active, bundle),
        held,
        _remembered(history, decision, now=now, activated=not held),
    )


def _remembered(history: History, decision: Decision, *, now: datetime, activated: bool) -> History:
    accepted = [one for one in decision.accepted if is_remembered(one)]
    dropped = [one.claim for one in decision.dropped if is_remembered(one.claim)]
    return remembered(history, accepted, dropped, now=now, activated=activated)
