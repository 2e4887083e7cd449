"""Windows, against a table that Optimus itself computed, and by their laws."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.jobs.windows import (
    TRUNCATIONS,
    Interval,
    InvalidWindow,
    Window,
    add_months,
    check_window,
    compute_interval,
    truncate,
)

# Written by the window code of raystack/optimus 5874457c.
TABLE = list(csv.DictReader((Path(__file__).parent / "windows.csv").read_text().splitlines()))
MOMENTS = st.integers(631_152_000, 4_102_444_800).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
UNITS = st.sampled_from(TRUNCATIONS)
HOURS = st.integers(0, 10_000)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_every_row_of_the_table_is_as_optimus_computed_it():
    assert len(TABLE) > 500
    different = []
    for row in TABLE:
        window = Window(int(row["version"]), row["truncate_to"], row["offset"], row["size"])
        interval = compute_interval(window, moment(row["scheduled_at"]))
        if interval != Interval(moment(row["start"]), moment(row["end"])):
            different.append((row, interval))

    assert not different


@pytest.mark.parametrize(
    ("window", "start", "end"),
    [
        (Window(2, "d", "0", "24h"), "2023-03-04T00:00:00Z", "2023-03-05T00:00:00Z"),
        (Window(2, "w", "0", "168h"), "2023-02-20T00:00:00Z", "2023-02-27T00:00:00Z"),
        (Window(2, "M", "-1M2h", "1M"), "2022-12-28T22:00:00Z", "2023-01-28T22:00:00Z"),
        (Window(1, "w", "0", "168h"), "2023-03-05T00:00:00Z", "2023-03-12T00:00:00Z"),
        (Window(1, "M", "0", "1M"), "2023-03-01T00:00:00Z", "2023-03-31T00:00:00Z"),
    ],
)
def test_a_window_on_a_sunday(window, start, end):
    interval = compute_interval(window, moment("2023-03-05T10:20:30Z"))

    assert interval == Interval(moment(start), moment(end))


@pytest.mark.parametrize(
    ("window", "field", "text"),
    [
        (Window(3), "version", "not supported"),
        (Window(2, "y"), "truncate_to", "h, d, w, M"),
        (Window(1, "y"), "truncate_to", "h, d, w, M"),
        (Window(2, "", "1d"), "offset", "is not a duration"),
        (Window(2, "", "M"), "offset", "is not a duration"),
        (Window(2, "", "1M2M"), "offset", "is not a duration"),
        (Window(2, "", "", "-24h"), "size", "negative"),
        (Window(2, "", "", "-1M"), "size", "negative"),
        (Window(2, "", "", "-0M1h"), "size", "negative"),
        (Window(2, "", "", "1201M"), "size", "exceeds 1200 months"),
        (Window(1, "", "", "1M2M"), "size", "names months twice"),
        (Window(1, "", "tomorrow", ""), "offset", "is not a duration"),
    ],
)
def test_an_invalid_window_names_its_field(window, field, text):
    with pytest.raises(InvalidWindow, match=text) as error:
        check_window(window)

    assert error.value.field == field


def test_a_window_beyond_the_calendar_is_refused():
    with pytest.raises(InvalidWindow, match="years 1 to 9999"):
        compute_interval(Window(2, "", "", "1000M"), datetime(20, 1, 1, tzinfo=UTC))


def test_a_minus_applies_to_the_hours_even_without_months():
    interval = compute_interval(Window(2, "", "-0M2h", ""), moment("2023-03-05T10:00:00Z"))

    assert interval.end == moment("2023-03-05T08:00:00Z")


def test_a_scheduled_time_in_another_zone_is_truncated_in_utc():
    interval = compute_interval(Window(2, "d"), moment("2023-03-05T01:00:00+07:00"))

    assert interval.end == moment("2023-03-04T00:00:00Z")


@given(MOMENTS, UNITS, st.integers(-10_000, 10_000), HOURS)
def test_the_size_is_the_distance_of_start_and_end(scheduled_at, unit, offset, size):
    interval = compute_interval(Window(2, unit, f"{offset}h", f"{size}h"), scheduled_at)

    assert interval.end - interval.start == timedelta(hours=size)


@given(MOMENTS, UNITS)
def test_truncating_twice_changes_nothing(scheduled_at, unit):
    once = truncate(scheduled_at, unit)

    assert truncate(once, unit) == once
    assert once <= scheduled_at


@given(MOMENTS, st.integers(-500, 500))
def test_months_are_added_to_the_first_of_a_month_without_loss(scheduled_at, months):
    first = truncate(scheduled_at, "M")

    assert add_months(add_months(first, months), -months) == first


@given(MOMENTS, UNITS, st.integers(-5_000, 5_000), st.integers(-5_000, 5_000))
def test_offsets_move_the_window_by_their_difference(scheduled_at, unit, one, other):
    first = compute_interval(Window(2, unit, f"{one}h", "24h"), scheduled_at)
    second = compute_interval(Window(2, unit, f"{other}h", "24h"), scheduled_at)

    assert second.start - first.start == timedelta(hours=other - one)
