"""Which data planes a change comes to first."""

from __future__ import annotations

import pytest

from registry.agent_configs.bundles.gates import Gate, held_by
from registry.agent_configs.bundles.rendering import digest
from registry.agent_configs.bundles.rollout import Progress, waits_for
from tests.support.agent_config_samples import published
from tests.unit.registry.agent_configs.bundles.test_rendering import bundle_of

PLANES = [
    Progress("canary-1", 0, True),
    Progress("canary-2", 0, False),
    Progress("eu", 1, False),
    Progress("us", 1, True),
]


@pytest.mark.parametrize(
    ("stage", "percent", "expected"),
    [
        (0, 100, ()),
        (1, 100, ("canary-2",)),
        (1, 51, ("canary-2",)),
        (1, 50, ()),
        (2, 100, ("canary-2", "eu")),
        (2, 50, ()),
    ],
)
def test_a_stage_waits_for_a_share_of_all_earlier_ones(stage, percent, expected):
    assert waits_for(stage, PLANES, percent=percent) == expected


def test_only_a_change_waits_and_an_approval_overrules_it():
    before, after = bundle_of(published("a")), bundle_of(published("a"), published("b"))

    (hold,) = held_by(after, before, waits_for=["canary-1", "canary-2"])
    assert (hold.gate, hold.message) == (
        Gate.EARLIER_STAGE,
        "It waits until canary-1 and 1 more of an earlier stage work with theirs.",
    )
    assert held_by(after, before) == ()
    assert held_by(before, before, waits_for=["canary-1"]) == ()
    assert held_by(after, None, waits_for=["canary-1"]) == ()
    assert held_by(after, before, None, frozenset({digest(after)}), waits_for=["canary-1"]) == ()
