"""Which generation counts, and which documents are looked at when something goes wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from registry.agent_configs.bundles.generations import (
    Generation,
    GenerationPolicy,
    find_served_generation,
    find_suspects,
    is_flapping,
)
from registry.agent_configs.claims.decide import decide
from registry.agent_configs.documents.reading import Reading
from tests.support.agent_config_samples import NOW, content, published
from tests.unit.registry.agent_configs.bundles.test_conditions import BROKEN
from tests.unit.registry.agent_configs.bundles.test_rendering import bundle_of

GOOD = Generation(1, content({"t": "a"}), NOW - timedelta(hours=1))


def test_a_valid_update_is_served_at_once():
    other_content = content({"t": "b"})

    assert find_served_generation(
        2, Reading(other_content), GOOD, policy=GenerationPolicy(), now=NOW
    ) == Generation(2, other_content, NOW)


@pytest.mark.parametrize(
    ("age", "is_served"), [(None, True), (timedelta(hours=1), True), (timedelta(minutes=59), False)]
)
def test_an_invalid_update_leaves_the_last_good_one_while_patience_lasts(age, is_served):
    served_generation = find_served_generation(
        2, BROKEN, GOOD, policy=GenerationPolicy(max_last_good_age=age), now=NOW
    )

    assert served_generation == (GOOD if is_served else None)


def test_an_invalid_first_generation_is_not_served():
    assert find_served_generation(1, BROKEN, None, policy=GenerationPolicy(), now=NOW) is None


@pytest.mark.parametrize(("changes", "flaps"), [(10, False), (11, True)])
def test_too_many_changes_of_late_are_flapping(changes, flaps):
    of_late = [NOW - timedelta(minutes=9)] * changes
    long_ago = [NOW - timedelta(minutes=10)] * 50

    assert is_flapping([*of_late, *long_ago], policy=GenerationPolicy(), now=NOW) is flaps


def test_only_what_changed_since_a_bundle_was_taken_is_suspected():
    same, changed, new = published("same"), published("changed"), published("new")
    applied = bundle_of(same, changed)

    rejected = bundle_of(same, replace(changed, generation=2), new)

    assert find_suspects(applied, rejected) == {changed.id, new.id}
    assert find_suspects(None, applied) == {same.id, changed.id}


def test_an_update_that_lessens_a_conflict_loses_nothing_new():
    winner = published("winner", "other", content({"t": "w", "u": "w"}), age=5)
    before = published("one", "acme", content({"t": "a", "u": "a", "v": "a"}))
    better = replace(before, content=content({"t": "a", "v": "a"}))

    now = decide([winner, before])

    assert decide([winner, better]).newly_dropped(now, before.id) == ()
    assert [
        claim.claim.key.name for claim in decide([winner, before]).newly_dropped(decide([]), before.id)
    ] == [
        "t",
        "u",
    ]
