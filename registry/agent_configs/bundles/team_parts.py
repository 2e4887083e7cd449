"""Team parts of a data plane's configuration, and the gates that hold one team's change. Pure.

A gate compares one team's documents with the same team's active part. So a team's change can neither hold
nor change the part of another team. While a part is held, the team's last active documents are served.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from registry.agent_configs.bundles.bundle import Bundle, build_bundle
from registry.agent_configs.bundles.differences import compare_bundles, summarize_difference
from registry.agent_configs.bundles.gates import (
    BundleName,
    Gate,
    GateLimits,
    Hold,
    find_excess_removals,
    names_in_bundle,
)
from registry.agent_configs.bundles.rendering import bundle_size, render_configuration
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.claims.contests import TieRule
from registry.agent_configs.claims.decide import ClaimPolicy, decide
from registry.agent_configs.documents.content import digest_of
from registry.agent_configs.documents.published import DocumentId, PublishedDocument
from registry.agent_configs.documents.schema import find_misreadings

# Each team's documents as last activated.
Parts = Mapping[str, tuple[PublishedDocument, ...]]


@dataclass(frozen=True, slots=True)
class HeldPart:
    """A held change of a team. digest: of this change, for approval. changes: readable lines."""

    team: str
    digest: str
    reasons: tuple[Hold, ...]
    changes: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return " ".join(reason.message for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class Division:
    """The documents that each team contributes.

    parts: the effective documents. held_parts: held changes. leaving: names of teams whose change takes
    effect; if such a name is removed, its own team removed it.
    """

    parts: Parts
    held_parts: tuple[HeldPart, ...] = ()
    leaving: frozenset[BundleName] = frozenset()

    @property
    def documents(self) -> tuple[PublishedDocument, ...]:
        return tuple(document for team in sorted(self.parts) for document in self.parts[team])


@dataclass(frozen=True, slots=True)
class _Change:
    """A team's change: its documents and the bundle they make without any other team."""

    team: str
    documents: tuple[PublishedDocument, ...]
    before: Bundle
    after: Bundle
    digest: str

    @property
    def growth(self) -> int:
        return bundle_size(self.after) - bundle_size(self.before)


def divide_by_team(
    documents: Iterable[PublishedDocument],
    parts: Parts,
    active: Bundle | None,
    target: Target,
    *,
    policy: ClaimPolicy,
    gates: GateLimits,
    approved: frozenset[str] = frozenset(),
) -> Division:
    """Decide which documents of each team take effect. parts: as last activated; new teams have none."""
    published = group_by_team(documents)
    changes = [
        _build_change(team, published.get(team, ()), active, target, policy)
        for team in sorted(published.keys() | parts.keys())
        if document_references(published.get(team, ())) != document_references(parts.get(team, ()))
    ]
    reasons = {change.team: list(_find_holds(change, active, gates, approved)) for change in changes}
    waiting = [change for change in changes if not reasons[change.team]]
    teams = len(published.keys() | parts.keys())
    for change in _find_over_share(waiting, active, gates, approved, teams=teams):
        size, share = bundle_size(change.after), gates.bytes // teams
        message = (
            f"The data plane's configuration is full and the team's part has {size} bytes, more than its "
            f"share of {share}. Publish less."
        )
        reasons[change.team].append(Hold(Gate.TOO_LARGE, message))
    held_parts = {
        change.team: _hold_part(change, reasons[change.team]) for change in changes if reasons[change.team]
    }
    counting = {
        team: parts.get(team, ()) if team in held_parts else published.get(team, ()) for team in published
    }
    counting |= {team: parts[team] for team in held_parts if team in parts}
    # Excess removals are held above; a team may also lose names through its new claims.
    leaving = (names_in_bundle(change.before) for change in changes if change.team not in held_parts)
    return Division(counting, tuple(held_parts.values()), frozenset().union(*leaving))


def find_excluded_names(
    documents: Iterable[PublishedDocument],
    substitutions: Mapping[DocumentId, PublishedDocument],
    target: Target,
    policy: ClaimPolicy,
) -> frozenset[BundleName]:
    """Return names that disappear because a document is quarantined or an older generation is served."""
    before = tuple(document for document in documents if document.id in substitutions)
    after = tuple(
        document for document in (substitutions[document.id] for document in before) if document.content
    )
    if not before:
        return frozenset()
    return names_in_bundle(_build_alone(before, target, policy)) - names_in_bundle(
        _build_alone(after, target, policy)
    )


def group_by_team(documents: Iterable[PublishedDocument]) -> dict[str, tuple[PublishedDocument, ...]]:
    """Group documents with content by team, in a fixed order."""
    grouped: defaultdict[str, list[PublishedDocument]] = defaultdict(list)
    for document in sorted(documents, key=lambda document: document.id):
        if document.content is not None:
            grouped[document.team].append(document)
    return {team: tuple(ours) for team, ours in grouped.items()}


def document_references(documents: Iterable[PublishedDocument]) -> list[list[str | int]]:
    """Return document IDs and generations as JSON; a generation never changes."""
    return sorted(
        [document.id.source, document.id.namespace, document.id.name, document.generation]
        for document in documents
    )


def part_digest(team: str, documents: Iterable[PublishedDocument]) -> str:
    return digest_of([team, document_references(documents)])


def find_waiting_documents(
    held_part: HeldPart, documents: Collection[PublishedDocument], parts: Parts
) -> frozenset[DocumentId]:
    """Return the IDs of the team's held documents: those not served in their latest generation."""
    served = {(document.id, document.generation) for document in parts.get(held_part.team, ())}
    ours = (document for document in documents if document.team == held_part.team)
    return frozenset(document.id for document in ours if (document.id, document.generation) not in served)


def _build_change(
    team: str,
    documents: tuple[PublishedDocument, ...],
    active: Bundle | None,
    target: Target,
    policy: ClaimPolicy,
) -> _Change:
    before, after = _active_part(team, active, target), _build_alone(documents, target, policy)
    return _Change(team, documents, before, after, part_digest(team, documents))


def _build_alone(documents: tuple[PublishedDocument, ...], target: Target, policy: ClaimPolicy) -> Bundle:
    """Build the bundle of these documents alone, with every name granted."""
    naming = replace(policy.naming, dialect=target.dialect)
    # Without history, two documents of the team must not both lose a name.
    alone = replace(policy, naming=naming, tie_rule=TieRule.OLDEST_WINS)
    decision = decide(documents, policy=alone)
    return build_bundle(documents, decision, replace(target, platform={}))


def _active_part(team: str, active: Bundle | None, target: Target) -> Bundle:
    """Return the team's part of the active configuration."""
    bare = replace(active.target if active else target, platform={})
    if active is None:
        return Bundle(bare)
    agents = {name: agent for name, agent in active.agents.items() if agent.team == team}
    routes = tuple(route for route in active.routes if route.team == team)
    types = {route.task_type.lower() for route in routes}
    return Bundle(
        bare, agents, routes, tuple(task_type for task_type in active.defaults if task_type in types)
    )


def _find_holds(
    change: _Change, active: Bundle | None, gates: GateLimits, approved: frozenset[str]
) -> Iterator[Hold]:
    """Yield the holds on a change. An approval overrides every gate except unreadable output."""
    for pointer in find_misreadings(render_configuration(change.after), change.after.target.names):
        yield Hold(Gate.MISREAD, f"Flyte would reject, drop or misread {pointer} of the team's part.")
    if change.digest in approved:
        return
    yield from _check_quotas(change, gates)
    for hold in find_excess_removals(change.before, change.after, gates):
        yield Hold(hold.gate, f"{hold.message} An administrator can approve it.")
    if gates.approval_required and active is not None:
        yield Hold(Gate.NEEDS_APPROVAL, "Changes of this data plane require approval.")


def _check_quotas(change: _Change, gates: GateLimits) -> Iterator[Hold]:
    """Hold changes that exceed a quota, unless the part shrinks: it may predate the quota."""
    for gate, what, old, new, most in (
        (
            Gate.TOO_MANY_AGENTS,
            "agents",
            len(change.before.agents),
            len(change.after.agents),
            gates.team_agents,
        ),
        (Gate.TOO_LARGE, "bytes", bundle_size(change.before), bundle_size(change.after), gates.team_bytes),
    ):
        if new > most and new > old:
            yield Hold(gate, f"The team's part has {new} {what}; the maximum is {most}. Publish less.")


def _find_over_share(
    changes: list[_Change],
    active: Bundle | None,
    gates: GateLimits,
    approved: frozenset[str],
    *,
    teams: int,
) -> Iterator[_Change]:
    """Yield the changes to hold because the configuration is too large, largest growth first.

    A team within its equal share is never held, so no team is blocked by the size of others. The served
    configuration stays below twice the limit: teams above their share grow only while the total is within it.
    """
    total = (bundle_size(active) if active else 0) + sum(change.growth for change in changes)
    if total <= gates.bytes:
        return
    share = gates.bytes // teams
    growing = (change for change in changes if change.growth > 0 and change.digest not in approved)
    for change in sorted(growing, key=lambda change: (-change.growth, change.team)):
        if total > gates.bytes and bundle_size(change.after) > share:
            total -= change.growth
            yield change


def _hold_part(change: _Change, reasons: list[Hold]) -> HeldPart:
    changes = summarize_difference(compare_bundles(change.before, change.after))
    return HeldPart(change.team, change.digest, tuple(reasons), changes)
