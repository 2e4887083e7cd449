"""No sequence of one team's changes changes what another team has in force, or holds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from registry.agent_configs.bundles.bundle import Bundle
from registry.agent_configs.bundles.compute import RecomputeInputs, recompute
from registry.agent_configs.bundles.gates import Gate, GateLimits
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.bundles.team_parts import part_digest
from registry.agent_configs.claims.contests import TieRule
from registry.agent_configs.claims.decide import ClaimPolicy
from registry.agent_configs.documents.content import Content, Deployment
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.documents.published import Naming, PublishedDocument
from tests.support.agent_config_samples import NOW, published
from tests.support.properties import examples

# What the other team has from the beginning: the hostile team claims this too, and loses.
FIRST = {f"first-{number}": f"first{number}.ours:1" for number in range(5)}
# What it comes to claim later: names that only it uses.
LATER = {f"later-{number}": f"later{number}.ours:1" for number in range(5)}
HOSTILE = {f"hostile-{number}": f"x{number}.hostile:1" for number in range(8)}

switches = st.booleans()
configs = st.sampled_from(["", '{"a": 1}', f'{{"a": "{"x" * 3000}"}}'])


@st.composite
def documents(draw: st.DrawFn, team: str, names: dict[str, str], most: int = 3) -> list[PublishedDocument]:
    """What a team publishes in one round; none is a deletion of everything."""
    drawn_contents = []
    for number in range(draw(st.integers(0, most))):
        ids = draw(st.sets(st.sampled_from(sorted(names)), min_size=1, max_size=5))
        service_config = draw(configs) if team == "hostile" else ""
        places = st.sampled_from(sorted(names.values()))
        agents = {
            agent_id: Deployment(
                draw(places) if team == "hostile" else names[agent_id], draw(switches), service_config
            )
            for agent_id in sorted(ids)
        }
        routes = {
            f"{agent_id}.{kind}": agent_id
            for agent_id in sorted(ids)
            for kind in draw(st.sets(st.integers(0, 2)))
        }
        content = Content(agents, routes)
        drawn_contents.append(published(f"d{number}", team, content, age=draw(st.integers(0, 50))))
    return drawn_contents


@st.composite
def rounds(draw: st.DrawFn) -> list[tuple[list[PublishedDocument], list[PublishedDocument]]]:
    """What ours and the hostile team have published, round by round. In the first, ours is alone."""
    agents = {name: Deployment(place, True) for name, place in FIRST.items()}
    routes = {f"{name}.{kind}": name for name in FIRST for kind in range(3)}
    constant = published("first", "ours", Content(agents, routes))
    steps = [([constant], [])]
    for number in range(1, draw(st.integers(2, 6))):
        ours = [replace(document, generation=number) for document in draw(documents("ours", LATER))]
        if draw(st.integers(0, 3)):
            ours.append(constant)
        hostile = draw(documents("hostile", {**FIRST, **HOSTILE}))
        steps.append((ours, [replace(document, generation=number) for document in hostile]))
    return steps


gates = st.builds(
    GateLimits,
    bytes=st.sampled_from([12_000, 1 << 20]),
    removal_share=st.sampled_from([0.0, 0.5]),
    removal_count=st.integers(1, 4),
    approval_required=switches,
    team_bytes=st.sampled_from([4000, 1 << 20]),
    team_agents=st.integers(3, 12),
)
policies = st.builds(
    ClaimPolicy,
    naming=st.builds(Naming, namespaced_ids=switches),
    tie_rule=st.sampled_from(TieRule),
    strict_endpoints=switches,
    flag=switches,
)
targets = st.builds(Target, dialect=st.sampled_from(Dialect))


@dataclass(frozen=True)
class Outcome:
    """What ours has in force after a round, and whether it, or the whole, was held."""

    part: Any
    is_held: bool
    is_all_held: bool


def part_of(bundle: Bundle | None, team: str) -> Any:
    """What a data plane reads of a team. Which of its documents gave a shared name is not part of it."""
    if bundle is None:
        return None
    agents = [agent for agent in bundle.agents.values() if agent.team == team]
    routes = [(*route.name, route.agent, route.mapped) for route in bundle.routes if route.team == team]
    return agents, routes


def play(
    world: RecomputeInputs, played: list[tuple[list[PublishedDocument], list[PublishedDocument]]]
) -> list[Outcome]:
    outcomes = []
    for number, (ours, hostile) in enumerate(played):
        at = NOW + timedelta(hours=number)
        now = replace(world, documents=[*ours, *hostile])
        if world.gates.approval_required:
            # Ours is approved as soon as it asks; the hostile team never is.
            now = replace(now, approved=frozenset({part_digest("ours", sorted_by_id(ours))}))
        outcome = recompute(now, now=at)
        if world.active is None and {hold.gate for hold in outcome.holds} == {Gate.NEEDS_APPROVAL}:
            outcome = recompute(replace(now, gates=replace(world.gates, approval_required=False)), now=at)
        is_held = any(held_part.team == "ours" for held_part in outcome.division.held_parts)
        if not outcome.holds:
            world = replace(world, active=outcome.bundle, parts=outcome.division.parts)
        world = replace(world, history=outcome.history)
        outcomes.append(Outcome(part_of(world.active, "ours"), is_held, bool(outcome.holds)))
    return outcomes


def sorted_by_id(documents: list[PublishedDocument]) -> list[PublishedDocument]:
    return sorted(documents, key=lambda document: document.id)


worlds = st.builds(RecomputeInputs, documents=st.just(()), target=targets, policy=policies, gates=gates)


@examples(15, nightly=1_000)
@given(worlds, rounds())
def test_nothing_that_one_team_does_changes_or_holds_anothers_part(world, played):
    alone = play(world, [(ours, []) for ours, _ in played])
    beside = play(world, played)

    event(f"ours held by its own change: {any(outcome.is_held for outcome in alone)}")
    event(f"everything held: {any(outcome.is_all_held for outcome in alone)}")
    assert beside == alone


@examples(15, nightly=1_000)
@given(worlds, rounds())
def test_a_held_part_is_as_it_was(world, played):
    """While its change waits a team keeps exactly what it had."""
    before = None
    for outcome in play(world, played):
        if outcome.is_held and before is not None:
            assert outcome.part == before
        before = outcome.part
