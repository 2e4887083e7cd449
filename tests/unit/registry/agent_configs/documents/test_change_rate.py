"""How often a team may change its documents."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from registry.agent_configs.documents.change_rate import Budget, Pace, is_busy, retry_after, spent
from tests.support.agent_config_samples import NOW

PACE = Pace(changes=3, window=timedelta(seconds=30))


def test_a_burst_is_accepted_up_to_the_limit_and_then_one_by_one():
    budget = None
    for _ in range(3):
        budget = spent(budget, pace=PACE, now=NOW)
    assert budget is not None

    assert spent(budget, pace=PACE, now=NOW) is None
    assert retry_after(budget, pace=PACE, now=NOW) == 10
    assert spent(budget, pace=PACE, now=NOW + timedelta(seconds=9)) is None
    assert spent(budget, pace=PACE, now=NOW + timedelta(seconds=10)) is not None


def test_a_team_is_busy_after_a_burst_and_not_for_ever():
    budget = spent(spent(None, pace=PACE, now=NOW), pace=PACE, now=NOW)

    assert is_busy(budget, pace=PACE, burst=1)
    assert not is_busy(budget, pace=PACE, burst=2)


@given(st.lists(st.integers(0, 40), max_size=60))
def test_no_window_has_more_than_the_limit_twice(waits):
    """A full bucket and what flows in within one window."""
    accepted, budget, at = [], None, NOW
    for seconds in waits:
        at += timedelta(seconds=seconds)
        after = spent(budget, pace=PACE, now=at)
        if after:
            accepted.append(at)
            budget = after
    for first in accepted:
        within = sum(first <= moment < first + PACE.window for moment in accepted)
        assert within <= 2 * PACE.changes


def test_a_clock_that_goes_back_gives_nothing():
    budget = Budget(0.0, NOW)

    assert spent(budget, pace=PACE, now=NOW - timedelta(hours=1)) is None
