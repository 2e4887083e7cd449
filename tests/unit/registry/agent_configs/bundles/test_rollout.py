"""Which data planes a change comes to first."""

from __future__ import annotations

import pytest

from registry.agent_configs.bundles.gates import Gate, find_holds
from registry.agent_configs.bundles.rendering import bundle_digest
from registry.agent_configs.bundles.rollout import StageProgress, find_unsettled_planes
from tests.support.agent_config_samples import published
from tests.unit.registry.agent_configs.bundles.test_rendering import bundle_of

PLANES = [
    StageProgress("canary-1", 0, True),
    StageProgress("canary-2", 0, False),
    StageProgress("eu", 1, False),
    StageProgress("us", 1, True),
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
    assert find_unsettled_planes(stage, PLANES, percent=percent) == expected


def test_only_a_change_waits_and_an_approval_overrules_it():
    before, after = bundle_of(published("a")), bundle_of(published("a"), published("b"))

    (hold,) = find_holds(after, before, waits_for=["canary-1", "canary-2"])
    assert (hold.gate, hold.message) == (
        Gate.EARLIER_STAGE,
        "Waiting for canary-1 and 1 more in an earlier stage to apply the change.",
    )
    assert find_holds(after, before) == ()
    assert find_holds(before, before, waits_for=["canary-1"]) == ()
    assert find_holds(after, None, waits_for=["canary-1"]) == ()
    assert find_holds(after, before, None, frozenset({bundle_digest(after)}), waits_for=["canary-1"]) == ()
