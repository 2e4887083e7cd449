"""First steps are shown until two of them are taken."""

import itertools

import pytest

from console.dashboard.first_steps import first_steps


@pytest.mark.parametrize("taken", list(itertools.product((False, True), repeat=3)))
def test_steps_are_marked_until_two_are_taken(taken):
    projects, overrides, agents = taken

    steps = first_steps(has_projects=projects, has_overrides=overrides, has_agents=agents)

    assert [step.is_done for step in steps] == (list(taken) if sum(taken) < 2 else [])
