"""Whatever is lost, repeated, late or dead: one live resource, no orphans (environment-agents.md, R5).

To see how a seed went: `print(dispatch_world.explain(seed))`.
"""

from __future__ import annotations

import pytest

from registry.dispatch.lifecycle.states import ResourceState
from tests.support import dispatch_world

SEEDS, PARTS = 2_000, 4


@pytest.mark.parametrize("part", range(PARTS))
def test_every_interleaving_ends_well(part: int) -> None:
    for seed in range(part, SEEDS, PARTS):
        try:
            dispatch_world.run(seed)
        except dispatch_world.Broken:
            pytest.fail(dispatch_world.explain(seed), pytrace=False)


def test_the_interleavings_reach_every_state_and_both_transports() -> None:
    worlds = [dispatch_world.run(seed) for seed in range(300)]

    states = {state for world in worlds for state in world.seen}
    assert states == set(ResourceState)
    assert {world.resource.state for world in worlds} >= {
        ResourceState.RUNNING,
        ResourceState.DELETED,
        ResourceState.CANCELLED,
    }
    assert {one.agent.channel for world in worlds for one in world.resource.assignments} == {"nats", "https"}
    assert any(len(world.resource.assignments) > 3 for world in worlds)
