"""Laws of aggregation, over everything that teams may publish."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from registry.agent_configs.bundles.compute import RecomputeInputs, RecomputeResult, recompute
from registry.agent_configs.bundles.differences import compare_bundles
from registry.agent_configs.bundles.gates import GateLimits
from registry.agent_configs.bundles.rendering import as_json, as_yaml, bundle_digest
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.claims.contests import TieRule
from registry.agent_configs.claims.decide import ClaimPolicy
from registry.agent_configs.claims.grants import Grant, Ownership, OwnershipMode
from registry.agent_configs.claims.relations import find_related
from registry.agent_configs.documents.content import Content, Deployment, Operation
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.documents.published import (
    Canary,
    Claim,
    ClaimKind,
    Naming,
    PublishedDocument,
    TaskTypeFacts,
)
from tests.support.agent_config_samples import NOW, published
from tests.support.flyte_loader import LoadedConfig, LoadedDeployment, load

AGENTS = ["a", "b", "y", "1", "acme--a"]
# Names that YAML, viper and people misread.
TASK_TYPES = ["t", "T", "my.dotted", "no", "1.10", "0x1F", "-5", "null", "a:b", "0_8", "-"]
TEAMS = ["acme", "other", "third"]

durations = st.integers(1, 300 * 10**9)
deployments = st.builds(
    Deployment,
    endpoint=st.sampled_from([*(f"x{number}.y:1" for number in range(6)), "dns:///x.y:2", "k8s://x.y:grpc"]),
    insecure=st.booleans(),
    service_config=st.sampled_from(["", '{"loadBalancingConfig": [{"round_robin": {}}]}']),
    default_timeout=st.none() | durations,
    timeouts=st.dictionaries(st.sampled_from(list(Operation)), durations, max_size=2),
)


@st.composite
def contents(draw: st.DrawFn) -> Content:
    # Few names, mostly with agents of the document's own: only then do documents get into each other's way.
    agents = draw(st.dictionaries(st.sampled_from(AGENTS), deployments, min_size=1, max_size=2))
    ids = st.sampled_from([*agents, *agents, *agents, *agents, *AGENTS, ""])
    names = st.sampled_from(TASK_TYPES[:3]) | st.sampled_from(TASK_TYPES)
    routes = draw(st.dictionaries(names, ids, min_size=1, max_size=4))
    defaults = {name.lower() for name in draw(st.sets(st.sampled_from(TASK_TYPES), max_size=2))}
    return Content(agents, routes, frozenset(defaults))


@st.composite
def documents(draw: st.DrawFn, most: int = 6) -> list[PublishedDocument]:
    return [
        published(
            f"d{number}",
            draw(st.sampled_from(TEAMS)),
            draw(contents()),
            age=draw(st.integers(0, 2)),
            facts=draw(st.dictionaries(st.sampled_from(TASK_TYPES), facts, max_size=2)),
            canary=draw(st.none() | st.none() | st.just(Canary("p", "d"))),
        )
        for number in range(draw(st.integers(2, most)))
    ]


facts = st.builds(TaskTypeFacts, version=st.integers(0, 1), is_sync=st.booleans())
grants = st.builds(
    Grant,
    team=st.sampled_from(TEAMS),
    pattern=st.sampled_from([*TASK_TYPES, *AGENTS, "*", "t*"]),
    kind=st.sampled_from([ClaimKind.TASK_TYPE, ClaimKind.AGENT]),
)
modes = st.sampled_from([OwnershipMode.OPEN, OwnershipMode.OPEN, OwnershipMode.GRANTED])
ownerships = st.builds(Ownership, mode=modes, grants=st.lists(grants, max_size=3).map(tuple))
targets = st.builds(
    Target,
    dialect=st.sampled_from(Dialect),
    release=st.sampled_from([(1, 15, 3), (1, 16, 0)]),
    enabled_plugins=st.sampled_from(
        [(), ("container",), ("container", "agent-service", "connector-service")]
    ),
)
policies = st.builds(
    ClaimPolicy,
    naming=st.builds(Naming, namespaced_ids=st.booleans()),
    reserved_task_types=st.just(frozenset({"null"})),
    strict_endpoints=st.booleans(),
    flag=st.booleans(),
)
# The laws are about claims: nothing is held for removing too much.
worlds = st.builds(
    RecomputeInputs,
    documents=documents(),
    target=targets,
    ownership=ownerships,
    policy=policies,
    gates=st.just(GateLimits(removal_count=1 << 30)),
)


def again(
    world: RecomputeInputs,
    documents: list[PublishedDocument],
    before: RecomputeResult | None = None,
    **more: Any,
) -> RecomputeResult:
    """Recompute for other documents; with what a recompute before left to be remembered."""
    remembered = {"history": before.history, "active": before.bundle} if before else {}
    return recompute(replace(world, documents=documents, **{**remembered, **more}), now=NOW)


def fates(found: RecomputeResult, *, without: frozenset[Any] = frozenset()) -> dict[Any, Any]:
    return {
        verdict.claim.order: (verdict.reason, verdict.winner and verdict.winner.order)
        for verdict in found.decision.verdicts
        if verdict.claim.document not in without
    }


@given(worlds, st.randoms())
def test_the_order_of_documents_does_not_matter(world, chance):
    shuffled = list(world.documents)
    chance.shuffle(shuffled)

    ours, theirs = again(world, list(world.documents)), again(world, shuffled)

    assert ours == theirs
    assert as_yaml(ours.bundle) == as_yaml(theirs.bundle)


@given(worlds)
def test_deciding_again_changes_nothing(world):
    first = again(world, list(world.documents))

    second = again(world, list(world.documents), first)

    assert not first.holds
    assert [verdict.accepted for verdict in first.decision.verdicts] == [
        verdict.accepted for verdict in second.decision.verdicts
    ]
    assert bundle_digest(first.bundle) == bundle_digest(second.bundle)
    assert second.difference.is_empty
    assert second.history == first.history


def best_granted(claim: Claim, world: RecomputeInputs) -> bool:
    """True if nobody was granted the name more closely than the claim's team."""
    closest = max(
        (grant.specificity(claim.key.kind, claim.key.name) for grant in world.ownership.grants), default=0
    )
    return world.ownership.specificity(claim) == closest


def endpoints(documents: Any, team: str, agent: str = "") -> set[str]:
    """Endpoints of a team, or of one agent of it as it is written in bundles."""
    return {
        deployment.endpoint
        for document in documents
        if document.team == team
        for name, deployment in document.content.agents.items()
        if not agent or agent in (name, f"{team}--{name}")
    }


def lodges(claim: Claim, team: str, world: RecomputeInputs) -> bool:
    """True if the claim's agent shares an endpoint with a team: it depends on that team's settings there."""
    return bool(endpoints(world.documents, claim.team, claim.agent) & endpoints(world.documents, team))


@given(worlds, documents(), st.data())
def test_who_goes_takes_nothing_from_another_team(world, earlier, data):
    gone = data.draw(st.sampled_from(world.documents))
    before = again(world, list(world.documents), again(world, earlier))
    left = [document for document in world.documents if document is not gone]

    after = again(world, left, before)

    orders = {claim.order for claim in after.decision.accepted}
    for claim in before.decision.accepted:
        if claim.team != gone.team and best_granted(claim, world) and not lodges(claim, gone.team, world):
            assert claim.order in orders
    own_count = sum(claim.document == gone.id for claim in before.decision.accepted)
    event(f"something was freed: {len(orders) > len(before.decision.accepted) - own_count}")


@given(worlds)
def test_an_invalid_document_changes_nothing_for_others(world):
    invalid = published("invalid", "acme", age=9)
    empty = PublishedDocument(invalid.id, "acme", 1, None, invalid.created_at)

    ours, theirs = again(world, list(world.documents)), again(world, [*world.documents, empty])

    assert ours == theirs


@given(worlds, st.data())
def test_a_document_is_decided_about_by_those_alone_that_it_has_to_do_with(world, data):
    """What the webhook asks: of thousands of documents it loads a few."""
    document = data.draw(st.sampled_from(list(world.documents)))
    history = again(world, list(world.documents)).history
    near = find_related(world.documents, [document])
    few = [other for other in world.documents if other.id in near]
    event(f"{len(few)} of {len(world.documents)}")

    all_, some = again(world, world.documents, history=history), again(world, few, history=history)

    assert document in few
    assert some.decision.of(document.id) == all_.decision.of(document.id)


@given(worlds)
def test_every_name_has_one_owner_and_every_loser_a_reason(world):
    recomputed = again(world, list(world.documents))

    by_key: dict[Any, set[str]] = {}
    for claim in recomputed.decision.accepted:
        if claim.agent and claim.key.kind is not ClaimKind.DEFAULT:
            by_key.setdefault(claim.key, set()).add(claim.digest)
    assert all(len(digests) == 1 for digests in by_key.values())
    for drop in recomputed.decision.dropped:
        assert drop.message
        assert drop.winner is None or drop.winner.order != drop.claim.order


@given(documents(4), ownerships)
def test_losing_together_is_a_policy_that_keeps_every_law_of_order(recomputed, ownership):
    policy = ClaimPolicy(tie_rule=TieRule.REJECT_BOTH)
    world = RecomputeInputs(recomputed, Target(), ownership, policy=policy)

    first, second = again(world, recomputed), again(world, recomputed[::-1])

    assert first == second
    assert again(world, recomputed, first).decision.accepted == first.decision.accepted


@given(worlds)
def test_a_data_plane_reads_exactly_what_is_meant(world):
    bundle = again(world, list(world.documents)).bundle
    section = world.target.names.section

    for text in (as_yaml(bundle), as_json(bundle)):
        assert load(text, section=section) == intended_config(world, bundle)


@given(worlds, documents())
def test_a_difference_is_empty_exactly_for_equal_bundles(world, other_documents):
    ours, theirs = again(world, list(world.documents)).bundle, again(world, other_documents).bundle

    delta = compare_bundles(ours, theirs)

    if delta.is_empty:
        assert bundle_digest(ours) == bundle_digest(theirs)
    if bundle_digest(ours) != bundle_digest(theirs):
        assert not delta.is_empty
    assert compare_bundles(ours, ours).is_empty


@given(worlds)
def test_a_name_that_comes_back_in_time_is_had_again(world):
    first = again(world, list(world.documents))
    gone = again(world, [], first)

    back = recompute(replace(world, history=gone.history), now=NOW + timedelta(hours=23))

    assert fates(back) == fates(again(world, list(world.documents), first))


def intended_config(world: RecomputeInputs, bundle: Any) -> LoadedConfig:
    words = world.target.names
    agents = {
        name: LoadedDeployment(
            agent.deployment.endpoint,
            agent.deployment.insecure,
            agent.deployment.service_config,
            {words.operation(operation): value for operation, value in agent.deployment.timeouts.items()},
            agent.deployment.default_timeout,
            agent.canary.project if agent.canary else "",
            agent.canary.domain if agent.canary else "",
        )
        for name, agent in bundle.agents.items()
    }
    assert all(agent.deployment.timeouts[Operation.LIST] for agent in bundle.agents.values())
    return LoadedConfig(
        agents=agents,
        agent_for_task_types=bundle.mappings,
        supported_task_types=list(bundle.supported),
        default_for_task_types=dict.fromkeys(bundle.defaults, words.section),
    )
