"""The choice of an agent: filters with reasons, scores, and what must hold for every input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.agents.states import Cost, State
from registry.dispatch.lifecycle.records import AgentRef
from registry.dispatch.placement.candidates import Candidate, Obstacle, Requirements, Ruling, Weakness
from registry.dispatch.placement.choose import choose
from registry.dispatch.placement.scores import WEIGHTS, score

OURS, OTHER = UUID(int=1), UUID(int=2)
NEEDS = Requirements("vm", owner=OURS, key="web")


def agent(name: str = "alpha", **facts: Any) -> Candidate:
    ref = AgentRef(f"id-{name}", name, f"dcm.agent.{name}")
    usual = {"owner": None, "environment": "prod", "state": State.READY, "service_types": frozenset({"vm"})}
    return Candidate(ref, **{**usual, **facts})


STATES = {
    State.REGISTERED: "approval",
    State.CONGESTED: "too many",
    State.DRAINING: "draining",
    State.UNAVAILABLE: "unavailable",
    State.UNKNOWN: "unknown",
    State.RETIRED: "retired. Reason: Because.",
}
GONE = {"vm": Weakness(True, "kube", "gone.")}
LABELS = {"selector": "tier=gold,gpu,!old"}
# The obstacle, a part of the reason, facts of the agent, and requirements.
REFUSED: list[tuple[Obstacle, str, dict[str, Any], dict[str, Any]]] = [
    (Obstacle.TYPE, "does not offer the service type vm", {"service_types": frozenset({"db"})}, {}),
    (Obstacle.PROVIDER, "provider kube for vm is unavailable: gone.", {"weaknesses": GONE}, {}),
    *(
        (Obstacle.STATE, word, {"state": state, "state_reason": "Because."}, {})
        for state, word in STATES.items()
    ),
    (Obstacle.LATE, "overdue", {"late": True}, {}),
    (Obstacle.ENVIRONMENT, "in the environment prod, and the request", {}, {"environment": "dev"}),
    (Obstacle.NAME, "requires the agent beta", {}, {"agent": "beta"}),
    (Obstacle.LABELS, "tier in (gold), gpu, !old", {"labels": {"old": "1"}}, LABELS),
    (Obstacle.OWNER, "only resources of that team", {"owner": OTHER}, {}),
    (Obstacle.OWNER, "only resources of that team", {"owner": OURS}, {"owner": None}),
    (Obstacle.FULL, "has 5 resources, and its capacity is 5", {"load": 5, "capacity": 5}, {}),
    (Obstacle.FULL, "capacity is 0", {"capacity": 0}, {}),
    (Obstacle.CONGESTED, "1200 messages wait", {"congested": True, "waiting": 1200}, {}),
    (Obstacle.UNSETTLED, "earlier attempt", {}, {"excluded": frozenset({"id-alpha"})}),
    (Obstacle.GUARD, "guard of prod is engaged", {"guard": "prod"}, {}),
    (Obstacle.DEAF, "no consumer in NATS", {"receives": False}, {}),
]


@pytest.mark.parametrize(("obstacle", "text", "facts", "needs"), REFUSED)
def test_each_filter_names_its_fact(obstacle, text, facts, needs):
    placement = choose(replace(NEEDS, **needs), [agent(**facts)])

    [refusal] = placement.verdicts[0].refusals
    assert refusal.obstacle is obstacle
    assert text in refusal.text
    assert refusal.text.endswith(".")
    assert placement.chosen is None
    assert f"{obstacle}." in placement.reason or "There is no agent beta" in placement.reason


def test_every_filter_is_in_the_table_above():
    assert {row[0] for row in REFUSED} == set(Obstacle) - {Obstacle.POLICY}


def test_an_agent_of_the_team_and_one_of_the_platform_can_take_it():
    placement = choose(NEEDS, [agent("a", owner=OURS), agent("b")])

    assert not any(verdict.refusals for verdict in placement.verdicts)


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ({"cost": "high"}, {"cost": "low"}),
        ({"waiting": 1}, {}),
        ({"weaknesses": {"vm": Weakness(False)}}, {}),
        ({"weaknesses": {"vm": Weakness(False)}}, {"weaknesses": {"db": Weakness(True)}}),
        ({"flap_penalty": 2.0}, {}),
        ({"receives": None}, {}),
        ({"load": 9, "capacity": 10}, {"load": 9, "capacity": 100}),
        ({"load": 9}, {"load": 8}),
        ({"cost": "low", "waiting": 60}, {"cost": "high"}),
        ({"cost": "medium", "waiting": 50}, {"cost": "low", "waiting": 5}),
    ],
)
def test_what_makes_an_agent_worse(worse, better):
    for key in ("web", "db", "x"):
        placement = choose(replace(NEEDS, key=key), [agent("a", **worse), agent("b", **better)])
        assert placement.chosen
        assert placement.chosen.ref.name == "b"


def test_an_agent_that_had_it_before_is_the_last_choice():
    worst = {
        "cost": "high", "waiting": 10**6, "weaknesses": {"vm": Weakness(False)}, "flap_penalty": 99.0,
        "receives": None, "load": 99999, "capacity": 100000,
    }  # fmt: skip
    needs = replace(NEEDS, avoided=frozenset({"id-a"}))

    assert choose(needs, [agent("a", cost="low"), agent("b", **worst)]).chosen == agent("b", **worst)
    assert choose(needs, [agent("a", cost="low")]).chosen is not None
    assert (
        sum(weight.weight for name, weight in WEIGHTS.items() if name != "avoided")
        < WEIGHTS["avoided"].weight
    )


def test_equal_agents_share_the_load():
    agents = [agent(name) for name in "abcd"]
    counts = dict.fromkeys("abcd", 0)
    for number in range(400):
        placement = choose(replace(NEEDS, key=f"r{number}"), agents)
        assert placement.chosen
        counts[placement.chosen.ref.name] += 1
        assert "the resource's id decides" in placement.reason

    assert min(counts.values()) > 60


def test_no_agent_at_all():
    assert choose(NEEDS, []).reason == "No agent offers the service type vm."


def test_a_policy_rejects_chooses_and_denies():
    agents = [agent("a"), agent("b", waiting=9), agent("new"), agent("c", late=True)]
    known = frozenset({"a", "b", "c"})

    rejected = choose(NEEDS, agents, Ruling(known, {"a": "No GPU."}))
    assert rejected.chosen == agents[1]
    texts = {
        verdict.agent.name: verdict.refusals[0].text for verdict in rejected.verdicts if verdict.refusals
    }
    assert texts["a"] == "The placement policy rejects it: No GPU."
    assert "has not judged" in texts["new"]
    assert choose(NEEDS, agents, Ruling(known, choose="b")).chosen == agents[1]
    assert choose(NEEDS, agents, Ruling(known, choose="c")).chosen is None
    denied = choose(NEEDS, agents, Ruling(known, deny="Frozen."))
    assert (denied.chosen, denied.reason) == (None, "Frozen.")


facts = st.fixed_dictionaries(
    {
        "owner": st.sampled_from([None, None, OURS, OTHER]),
        "environment": st.sampled_from(["prod", "dev"]),
        "state": st.sampled_from([State.READY, State.READY, *State]),
        "service_types": st.sampled_from([frozenset({"vm"}), frozenset({"vm", "db"}), frozenset({"db"})]),
        "labels": st.sampled_from([{}, {"tier": "gold"}]),
        "cost": st.sampled_from([cost.value for cost in Cost]),
        "late": st.booleans(),
        "guard": st.sampled_from(["", "", "prod"]),
        "receives": st.sampled_from([True, None, False]),
        "congested": st.booleans(),
        "waiting": st.integers(0, 500),
        "load": st.integers(0, 20),
        "capacity": st.sampled_from([None, 0, 10, 100]),
        "flap_penalty": st.floats(0, 20),
        "weaknesses": st.sampled_from([{}, {"vm": Weakness(False)}, {"vm": Weakness(True)}]),
    }
)
ABLE = {
    "owner": None,
    "state": State.READY,
    "service_types": frozenset({"vm"}),
    "late": False,
    "guard": "",
    "receives": True,
    "congested": False,
    "capacity": 100,
    "weaknesses": {},
}
able_facts = facts.map(lambda values: values | ABLE)
fleets = st.lists(st.one_of(facts, able_facts), max_size=8).map(
    lambda rows: [agent(f"a{number}", **row) for number, row in enumerate(rows)]
)
needs = st.builds(
    Requirements,
    service_type=st.just("vm"),
    owner=st.sampled_from([None, OURS]),
    environment=st.sampled_from(["", "", "prod"]),
    agent=st.sampled_from(["", "", "", "a1"]),
    selector=st.sampled_from(["", "", "tier=gold", "tier!=gold"]),
    excluded=st.sets(st.sampled_from(["id-a0", "id-a1"])).map(frozenset),
    avoided=st.sets(st.sampled_from(["id-a0", "id-a2"])).map(frozenset),
    key=st.sampled_from(["web", "db", "vm flytesnacks"]),
)


@given(needs, fleets, st.randoms())
def test_the_same_input_gives_the_same_choice(requirements, fleet, chance):
    shuffled = list(fleet)
    chance.shuffle(shuffled)

    assert choose(requirements, fleet) == choose(requirements, shuffled)


@given(needs, fleets)
def test_every_refused_agent_has_a_reason_and_the_chosen_one_the_lowest_score(requirements, fleet):
    placement = choose(requirements, fleet)

    able = [verdict for verdict in placement.verdicts if not verdict.refusals]
    assert len(placement.verdicts) == len(fleet)
    for verdict in placement.verdicts:
        assert all(refusal.text for refusal in verdict.refusals)
        assert bool(verdict.score) == (not verdict.refusals)
    assert placement.reason
    assert (placement.chosen is None) == (not able)
    if placement.chosen:
        assert placement.chosen.ref == able[0].agent
        assert able[0].total == min(verdict.total for verdict in able)
        assert set(able[0].score) == set(WEIGHTS)


@given(needs, fleets, facts)
def test_an_agent_that_cannot_take_it_never_changes_the_choice(requirements, fleet, more):
    stranger = agent("stranger", **{**more, "state": State.DRAINING})

    assert choose(requirements, [*fleet, stranger]).chosen == choose(requirements, fleet).chosen


@given(needs, facts)
def test_no_part_is_more_than_its_weight(requirements, values):
    parts = score(requirements, agent("a0", **values))

    assert all(0 <= points <= WEIGHTS[name].weight for name, points in parts.items())
