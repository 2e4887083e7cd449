"""The timeline draws each event once, within its picture, and says the same as a table."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.dashboard.timeline import (
    HEIGHT,
    LANES,
    RANGES,
    TYPES,
    WIDTH,
    busy_steps,
    find_range,
    rows,
    ticks,
)

BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = find_range("1h")


@given(
    st.sampled_from(RANGES).flatmap(
        lambda period: st.tuples(
            st.just(period),
            st.dictionaries(
                st.tuples(
                    st.integers(0, period.count - 1).map(lambda step: BEGIN + step * period.step),
                    st.sampled_from(TYPES),
                ),
                st.integers(1, 20_000),
            ),
        )
    )
)
def test_each_event_is_counted_once_and_drawn_inside(made):
    period, counts = made
    lanes = rows(counts, period, begin=BEGIN)

    assert sum(row.total for row in lanes) == sum(counts.values())
    for bar in (bar for row in lanes for bar in row.bars):
        assert bar.x >= 0
        assert bar.x + bar.width <= WIDTH + 2
        assert 0 < bar.height <= HEIGHT
        assert bar.y + bar.height == HEIGHT
    table = busy_steps(lanes)
    assert [sum(count for _, counts in table for count in [counts[lane]]) for lane in range(len(LANES))] == [
        row.total for row in lanes
    ]
    assert [at for at, _ in table] == sorted({at for at, _ in counts}, reverse=True)


def test_one_event_beside_thousands_is_seen_and_the_peak_is_named():
    counts = {(BEGIN, "agent.unknown"): 20_000, (BEGIN + 5 * HOUR.step, "agent.unavailable"): 1}

    silent = rows(counts, HOUR, begin=BEGIN)[0]

    assert [bar.height for bar in silent.bars] == [HEIGHT, 3]
    assert silent.peak == silent.bars[0]
    assert silent.bars[1].x == 5 * WIDTH / 60


def test_types_of_one_lane_and_step_are_one_bar():
    counts = {(BEGIN, "agent.unknown"): 2, (BEGIN, "agent.unavailable"): 3, (BEGIN, "override.created"): 1}

    lanes = rows(counts, HOUR, begin=BEGIN)

    assert [[bar.count for bar in row.bars] for row in lanes] == [[5], [], [], [1], []]
    assert lanes[1].peak is None


@pytest.mark.parametrize("since", ["", "2h", "\x00", "15 m"])
def test_another_range_is_an_hour(since):
    assert find_range(since) == HOUR


def test_ticks_name_the_quarters():
    assert ticks(HOUR) == ["60 min ago", "45 min ago", "30 min ago", "15 min ago", "now"]
    assert ticks(find_range("24h")) == ["24 h ago", "18 h ago", "12 h ago", "6 h ago", "now"]
