"""The delay of a login is measured without trusting the clock of NATS."""

from __future__ import annotations

import pytest

from registry.dispatch.nats_logins.delays import Delays


@pytest.mark.parametrize("skew", [-7200.0, 0.0, 7200.0])
def test_a_wrong_clock_is_no_delay(skew: float) -> None:
    delays = Delays()
    assert delays.note("one", 1000 + skew, 1000.1) == 0
    assert delays.note("one", 1010 + skew, 1013.1) == pytest.approx(3)
    assert delays.note("two", 1010 + skew, 1013.1) == 0


def test_a_clock_that_was_set_is_believed_within_two_minutes() -> None:
    delays = Delays()
    delays.note("one", 1000, 1000)
    assert delays.note("one", 1000, 1030) == 30
    assert delays.note("one", 1080, 1110) == 0
