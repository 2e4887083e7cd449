"""How often a team may change its documents."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from registry.agent_configs.documents.change_rate import (
    ChangeBudget,
    ChangeRate,
    exceeds_burst,
    retry_after,
    spend_one_change,
)
from tests.support.agent_config_samples import NOW

PACE = ChangeRate(changes=3, window=timedelta(seconds=30))


def test_a_burst_is_accepted_up_to_the_limit_and_then_one_by_one():
    budget = None
    for _ in range(3):
        budget = spend_one_change(budget, rate=PACE, now=NOW)
    assert budget is not None

    assert spend_one_change(budget, rate=PACE, now=NOW) is None
    assert retry_after(budget, rate=PACE, now=NOW) == 10
    assert spend_one_change(budget, rate=PACE, now=NOW + timedelta(seconds=9)) is None
    assert spend_one_change(budget, rate=PACE, now=NOW + timedelta(seconds=10)) is not None


def test_a_team_is_busy_after_a_burst_and_not_for_ever():
    budget = spend_one_change(spend_one_change(None, rate=PACE, now=NOW), rate=PACE, now=NOW)

    assert exceeds_burst(budget, rate=PACE, burst=1)
    assert not exceeds_burst(budget, rate=PACE, burst=2)


@given(st.lists(st.integers(0, 40), max_size=60))
def test_no_window_has_more_than_the_limit_twice(waits):
    """A full bucket and what flows in within one window."""
    accepted, budget, at = [], None, NOW
    for seconds in waits:
        at += timedelta(seconds=seconds)
        after = spend_one_change(budget, rate=PACE, now=at)
        if after:
            accepted.append(at)
            budget = after
    for first in accepted:
        within = sum(first <= moment < first + PACE.window for moment in accepted)
        assert within <= 2 * PACE.changes


def test_a_clock_that_goes_back_gives_nothing():
    budget = ChangeBudget(0.0, NOW)

    assert spend_one_change(budget, rate=PACE, now=NOW - timedelta(hours=1)) is None
