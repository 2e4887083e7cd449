"""Times as pages show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from console.templatetags.times import ago, duration

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"), (59, "59 s"), (60, "1 min"), (90, "90 s"),
        (300, "5 min"), (3600, "1 h"), (86_400, "24 h"), (604_800, "7 days"),
    ],
)  # fmt: skip
def test_a_set_time_is_exact_and_in_its_greatest_unit(seconds, shown):
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(-3, "0 s ago"), (119, "119 s ago"), (120, "2 min ago"), (200_000, "2 days ago")]
)
def test_a_moment_is_shown_by_how_long_ago_it_was(seconds, shown):
    assert ago(NOW - timedelta(seconds=seconds), NOW) == shown
