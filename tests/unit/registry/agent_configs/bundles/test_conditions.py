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

DOCUMENT = published("one", generation=3)
BROKEN = read_document("plugins: {agent-service: {agents: {a: {endpoint: 'x.y:1', defaultTimeout: 5}}}}")


def situation(*others: PublishedDocument, document: PublishedDocument = DOCUMENT, **more) -> Situation:
    documents = [document, *others]
    standard = {
        "generation": document.generation,
        "reading": Reading(document.content),
        "decision": decide(documents),
        "active": bundle_of(*documents),
    }
    return Situation(published=document, **(standard | more))


def statuses_of(found: Situation) -> dict[str, tuple[str, str, int]]:
    return {
        condition.type.value: (condition.status.value, condition.reason, condition.observed_generation)
        for condition in build_conditions(found)
    }


def test_a_document_that_is_served_says_so():
    assert statuses_of(situation()) == {
        "Parsed": ("True", "Parsed", 3),
        "Valid": ("True", "Valid", 3),
        "Accepted": ("True", "Accepted", 3),
        "Conflicted": ("False", "NoConflicts", 3),
        "Reachable": ("Unknown", "NotProbed", 3),
        "Programmed": ("True", "Programmed", 3),
        "Stale": ("False", "Synced", 3),
    }


def test_an_invalid_update_keeps_the_last_good_generation_served():
    stale = situation(generation=4, reading=BROKEN)

    assert statuses_of(stale)["Valid"] == ("False", "InvalidDuration", 4)
    assert statuses_of(stale)["Parsed"] == ("True", "Parsed", 4)
    assert statuses_of(stale)["Accepted"] == ("True", "Accepted", 3)
    assert statuses_of(stale)["Programmed"] == ("True", "ServingLastGood", 3)


def test_a_valid_update_waits_for_its_bundle():
    stale = situation(document=replace(DOCUMENT, generation=4), active=bundle_of(DOCUMENT))

    assert statuses_of(stale)["Programmed"] == ("True", "Pending", 3)


def test_an_invalid_new_document_is_left_out():
    document = replace(DOCUMENT, content=None, generation=1)

    statuses = statuses_of(situation(document=document, reading=BROKEN))

    assert statuses["Accepted"] == ("False", "InvalidDuration", 1)
    assert statuses["Programmed"] == ("False", "NotProgrammed", 1)


def test_what_is_no_yaml_is_not_parsed():
    statuses = statuses_of(situation(document=replace(DOCUMENT, content=None), reading=read_document("a: [")))

    assert statuses["Parsed"] == statuses["Valid"] == ("False", "InvalidYAML", 3)


def test_a_document_that_loses_something_is_partially_accepted_and_told_to_whom():
    winner = published("winner", "other", content({"one_task": "b"}), age=5)

    contested = situation(winner)

    assert statuses_of(contested)["Accepted"] == ("True", "PartiallyAccepted", 3)
    assert statuses_of(contested)["Conflicted"] == ("True", "TaskTypeConflict", 3)
    (conflicted,) = (condition for condition in build_conditions(contested) if condition.type == "Conflicted")
    assert "cluster/other/winner of other" in conflicted.message


def test_a_document_that_loses_everything_is_not_accepted():
    winner = published("winner", "other", content({"one_task": "one", "x": "one"}), age=5)
    winner = replace(
        winner,
        content=content({"one_task": "one"}, {"one": replace(winner.content.agents["one"], insecure=True)}),
    )

    assert statuses_of(situation(winner))["Accepted"] == ("False", "AgentNameConflict", 3)


def test_a_shared_claim_is_told():
    assert (
        statuses_of(situation(published("z", "other", DOCUMENT.content, age=5)))["Accepted"][1]
        == "SharedIdentical"
    )


def test_quarantine_is_told():
    document = replace(DOCUMENT, content=None)

    assert statuses_of(situation(document=document, quarantined=True))["Accepted"] == (
        "False",
        "Quarantined",
        3,
    )


def test_a_source_that_cannot_be_read_makes_a_document_stale_and_nothing_else():
    statuses = statuses_of(situation(source_synced=False))

    assert statuses["Stale"] == ("True", "SourceUnavailable", 3)
    assert statuses["Programmed"][0] == "True"


@pytest.mark.parametrize(
    ("probe", "status", "reason"),
    [
        (ProbeResult(True, "cluster"), "True", "Reachable"),
        (ProbeResult(False, "cluster"), "False", "Unreachable"),
        (ProbeResult(None, message="no answer"), "Unknown", "NotProbed"),
    ],
)
def test_reachability_has_three_states(probe, status, reason):
    assert statuses_of(situation(probe=probe))["Reachable"] == (status, reason, 3)


def test_every_data_plane_is_told_by_itself():
    acks = [
        Ack("z", AckState.REJECTED, 2, "no"),
        Ack("a", AckState.APPLIED, 3),
        Ack("q", None, 3),
        Ack("d", AckState.DEGRADED, 3),
    ]

    conditions = [
        condition for condition in build_conditions(situation(acks=acks)) if condition.type == "Applied"
    ]

    assert [
        (condition.data_plane, condition.status, condition.reason, condition.observed_generation)
        for condition in conditions
    ] == [
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
        return {condition.type.value: condition.last_transition_at for condition in found}

    assert set(times(first).values()) == {NOW}
    assert times(same) == times(first) | {"Reachable": later}
    assert times(other) == times(same) | {"Valid": last, "Reachable": last}


def test_a_message_never_grows_without_bound():
    routes = {f"task_{number}": "one" for number in range(100)}
    winner = published("winner", "other", content(dict.fromkeys(routes, "b")), age=5)

    conditions = build_conditions(situation(winner, document=published("one", said=content(routes))))

    assert max(len(condition.message) for condition in conditions) == 1000
