"""Each team's part of a data plane's configuration, and the gates that hold one team's change. Pure.

A gate looks at the documents of one team and at what the same team has in force. So no change of a team can
hold, or change, the part of another team. While a part is held, the team's documents that were last put in
force are served.
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

# Each team's documents as they were last put in force.
Parts = Mapping[str, tuple[PublishedDocument, ...]]


@dataclass(frozen=True, slots=True)
class HeldPart:
    """A team's change that waits. digest: of exactly this change, for an approval. changes: in words."""

    team: str
    digest: str
    reasons: tuple[Hold, ...]
    changes: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return " ".join(reason.message for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class Division:
    """What each team contributes now.

    parts: the documents that count. held: changes that wait. leaving: names of teams whose change takes
    effect; where such a name is removed, its own team did it.
    """

    parts: Parts
    held_parts: tuple[HeldPart, ...] = ()
    leaving: frozenset[BundleName] = frozenset()

    @property
    def documents(self) -> tuple[PublishedDocument, ...]:
        return tuple(document for team in sorted(self.parts) for document in self.parts[team])


@dataclass(frozen=True, slots=True)
class _Change:
    """A team's change: its documents, and what they mean without any other team."""

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
    """Which documents of each team count. parts: as last put in force; a team without one is new."""
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
    # Whether too many of them go was judged above; and a team may lose names by what it newly claims.
    leaving = (names_in_bundle(change.before) for change in changes if change.team not in held_parts)
    return Division(counting, tuple(held_parts.values()), frozenset().union(*leaving))


def find_excluded_names(
    documents: Iterable[PublishedDocument],
    substitutions: Mapping[DocumentId, PublishedDocument],
    target: Target,
    policy: ClaimPolicy,
) -> frozenset[BundleName]:
    """Names that go because a document was quarantined or is served as it was: somebody decided that."""
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
    """The documents that have something to serve, in a fixed order."""
    grouped: defaultdict[str, list[PublishedDocument]] = defaultdict(list)
    for document in sorted(documents, key=lambda document: document.id):
        if document.content is not None:
            grouped[document.team].append(document)
    return {team: tuple(ours) for team, ours in grouped.items()}


def document_references(documents: Iterable[PublishedDocument]) -> list[list[str | int]]:
    """Which generations these are, as JSON: a generation never changes."""
    return sorted(
        [document.id.source, document.id.namespace, document.id.name, document.generation]
        for document in documents
    )


def part_digest(team: str, documents: Iterable[PublishedDocument]) -> str:
    return digest_of([team, document_references(documents)])


def find_waiting_documents(
    held_part: HeldPart, documents: Collection[PublishedDocument], parts: Parts
) -> frozenset[DocumentId]:
    """The ids of the documents that wait: those of the team that are not served as they are."""
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
    """What the documents mean where no other team publishes, and everything is granted."""
    naming = replace(policy.naming, dialect=target.dialect)
    # Nothing is remembered here, so that two documents of the team must not both lose a name.
    alone = replace(policy, naming=naming, tie_rule=TieRule.OLDEST_WINS)
    decision = decide(documents, policy=alone)
    return build_bundle(documents, decision, replace(target, platform={}))


def _active_part(team: str, active: Bundle | None, target: Target) -> Bundle:
    """The team's part of the configuration in force."""
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
    """Why a change waits. An approval overrules all but what a data plane could not read."""
    for pointer in find_misreadings(render_configuration(change.after), change.after.target.names):
        yield Hold(Gate.MISREAD, f"Flyte would refuse, lose or misread {pointer} of the team's part.")
    if change.digest in approved:
        return
    yield from _check_quotas(change, gates)
    for hold in find_excess_removals(change.before, change.after, gates):
        yield Hold(hold.gate, f"{hold.message} An administrator can approve it.")
    if gates.approval_required and active is not None:
        yield Hold(Gate.NEEDS_APPROVAL, "Every change of this data plane waits for an approval.")


def _check_quotas(change: _Change, gates: GateLimits) -> Iterator[Hold]:
    """Who has more than a quota already, from before there was one, may have less, and not yet more."""
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
            yield Hold(gate, f"The team's part has {new} {what}. A team may have {most}: publish less.")


def _find_over_share(
    changes: list[_Change],
    active: Bundle | None,
    gates: GateLimits,
    approved: frozenset[str],
    *,
    teams: int,
) -> Iterator[_Change]:
    """Changes that wait because the whole is too large: the largest growth first.

    A team within its equal share is never among them, so nobody is kept out by the size of others. What is
    served stays below twice the limit: teams above their share grow only while the whole is within it.
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
