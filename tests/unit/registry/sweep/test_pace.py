"""The sweep pauses longer the more its steps have to wait for others."""

from __future__ import annotations

import pytest

from registry.sweep.pace import Pace


def test_steps_that_all_take_the_same_time_are_followed_by_short_pauses():
    pace = Pace()

    assert [pace.rest_after(0.01) for _ in range(5)] == [pytest.approx(0.001)] * 5


def test_the_pause_grows_with_the_delay_of_a_step_and_shrinks_again():
    pace = Pace()
    pace.rest_after(0.010)

    slow, slower, usual = (pace.rest_after(seconds) for seconds in (0.012, 0.015, 0.010))

    assert usual < slow < slower


@pytest.mark.parametrize("seconds", [0.03, 1.0, 60.0])
def test_a_sweep_never_takes_more_than_four_times_as_long(seconds):
    pace = Pace()
    pace.rest_after(0.001)

    assert pace.rest_after(seconds) <= 3 * seconds


def test_a_faster_step_shows_that_earlier_ones_were_delayed():
    pace = Pace()
    first = pace.rest_after(0.02)
    pace.rest_after(0.01)

    assert pace.rest_after(0.02) > first
