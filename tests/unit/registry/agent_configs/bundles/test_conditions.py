"""How a document stands is told in conditions, each about one thing and one generation."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from registry.agent_configs.bundles.conditions import (
    Ack,
    AckState,
    Condition,
    ProbeResult,
    Situation,
    build_conditions,
    with_transition_times,
)
from registry.agent_configs.claims.decide import decide
from registry.agent_configs.documents.published import PublishedDocument
from registry.agent_configs.documents.reading import Reading, read_document
from tests.support.agent_config_samples import NOW, content, published
from tests.unit.registry.agent_configs.bundles.test_rendering import bundle_of

ONE = published("one", generation=3)
BROKEN = read_document("plugins: {agent-service: {agents: {a: {endpoint: 'x.y:1', defaultTimeout: 5}}}}")


def situation(*others: PublishedDocument, one: PublishedDocument = ONE, **more) -> Situation:
    documents = [one, *others]
    standard = {
        "generation": one.generation,
        "reading": Reading(one.content),
        "decision": decide(documents),
        "active": bundle_of(*documents),
    }
    return Situation(published=one, **(standard | more))


def told(found: Situation) -> dict[str, tuple[str, str, int]]:
    return {
        one.type.value: (one.status.value, one.reason, one.observed_generation)
        for one in build_conditions(found)
    }


def test_a_document_that_is_served_says_so():
    assert told(situation()) == {
        "Parsed": ("True", "Parsed", 3),
        "Valid": ("True", "Valid", 3),
        "Accepted": ("True", "Accepted", 3),
        "Conflicted": ("False", "NoConflicts", 3),
        "Reachable": ("Unknown", "NotProbed", 3),
        "Programmed": ("True", "Programmed", 3),
        "Stale": ("False", "Synced", 3),
    }


def test_an_invalid_update_keeps_the_last_good_generation_served():
    found = situation(generation=4, reading=BROKEN)

    assert told(found)["Valid"] == ("False", "InvalidDuration", 4)
    assert told(found)["Parsed"] == ("True", "Parsed", 4)
    assert told(found)["Accepted"] == ("True", "Accepted", 3)
    assert told(found)["Programmed"] == ("True", "ServingLastGood", 3)


def test_a_valid_update_waits_for_its_bundle():
    found = situation(one=replace(ONE, generation=4), active=bundle_of(ONE))

    assert told(found)["Programmed"] == ("True", "Pending", 3)


def test_an_invalid_new_document_is_left_out():
    one = replace(ONE, content=None, generation=1)

    found = told(situation(one=one, reading=BROKEN))

    assert found["Accepted"] == ("False", "InvalidDuration", 1)
    assert found["Programmed"] == ("False", "NotProgrammed", 1)


def test_what_is_no_yaml_is_not_parsed():
    found = told(situation(one=replace(ONE, content=None), reading=read_document("a: [")))

    assert found["Parsed"] == found["Valid"] == ("False", "InvalidYAML", 3)


def test_a_document_that_loses_something_is_partially_accepted_and_told_to_whom():
    winner = published("winner", "other", content({"one_task": "b"}), age=5)

    found = situation(winner)

    assert told(found)["Accepted"] == ("True", "PartiallyAccepted", 3)
    assert told(found)["Conflicted"] == ("True", "TaskTypeConflict", 3)
    (conflicted,) = (one for one in build_conditions(found) if one.type == "Conflicted")
    assert "cluster/other/winner of other" in conflicted.message


def test_a_document_that_loses_everything_is_not_accepted():
    winner = published("winner", "other", content({"one_task": "one", "x": "one"}), age=5)
    winner = replace(
        winner,
        content=content({"one_task": "one"}, {"one": replace(winner.content.agents["one"], insecure=True)}),
    )

    assert told(situation(winner))["Accepted"] == ("False", "AgentNameConflict", 3)


def test_a_shared_claim_is_told():
    assert told(situation(published("z", "other", ONE.content, age=5)))["Accepted"][1] == "SharedIdentical"


def test_quarantine_is_told():
    one = replace(ONE, content=None)

    assert told(situation(one=one, quarantined=True))["Accepted"] == ("False", "Quarantined", 3)


def test_a_source_that_cannot_be_read_makes_a_document_stale_and_nothing_else():
    found = told(situation(source_synced=False))

    assert found["Stale"] == ("True", "SourceUnavailable", 3)
    assert found["Programmed"][0] == "True"


@pytest.mark.parametrize(
    ("probe", "status", "reason"),
    [
        (ProbeResult(True, "cluster"), "True", "Reachable"),
        (ProbeResult(False, "cluster"), "False", "Unreachable"),
        (ProbeResult(None, message="no answer"), "Unknown", "NotProbed"),
    ],
)
def test_reachability_has_three_states(probe, status, reason):
    assert told(situation(probe=probe))["Reachable"] == (status, reason, 3)


def test_every_data_plane_is_told_by_itself():
    acks = [
        Ack("z", AckState.REJECTED, 2, "no"),
        Ack("a", AckState.APPLIED, 3),
        Ack("q", None, 3),
        Ack("d", AckState.DEGRADED, 3),
    ]

    found = [one for one in build_conditions(situation(acks=acks)) if one.type == "Applied"]

    assert [(one.data_plane, one.status, one.reason, one.observed_generation) for one in found] == [
        ("a", "True", "Applied", 3),
        ("d", "False", "Degraded", 3),
        ("q", "Unknown", "NotAcknowledged", 3),
        ("z", "False", "Rejected", 2),
    ]


def test_the_time_of_a_transition_stays_while_the_status_does():
    later, last = NOW + timedelta(hours=1), NOW + timedelta(hours=2)
    first = with_transition_times(build_conditions(situation()), (), now=NOW)

    same = with_transition_times(build_conditions(situation(probe=ProbeResult(True))), first, now=later)
    other = with_transition_times(build_conditions(situation(generation=4, reading=BROKEN)), same, now=last)

    def times(found: tuple[Condition, ...]):
        return {one.type.value: one.last_transition_at for one in found}

    assert set(times(first).values()) == {NOW}
    assert times(same) == times(first) | {"Reachable": later}
    assert times(other) == times(same) | {"Valid": last, "Reachable": last}


def test_a_message_never_grows_without_bound():
    routes = {f"task_{number}": "one" for number in range(100)}
    winner = published("winner", "other", content(dict.fromkeys(routes, "b")), age=5)

    found = build_conditions(situation(winner, one=published("one", said=content(routes))))

    assert max(len(one.message) for one in found) == 1000
