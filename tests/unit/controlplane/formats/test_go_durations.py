"""Durations are read and written as Go does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.formats import go_durations
from tests.support import flyte_loader


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("+0", 0),
        ("1ns", 1),
        ("5s", 5 * go_durations.SECOND),
        ("1m30s", 90 * go_durations.SECOND),
        ("1.5h", 90 * go_durations.MINUTE),
        (".5s", 500 * go_durations.MILLISECOND),
        ("1.s", go_durations.SECOND),
        ("2us", 2000),
        ("2\u00b5s", 2000),
        ("2\u03bcs", 2000),
        ("-1m", -go_durations.MINUTE),
        ("3s1h", go_durations.HOUR + 3 * go_durations.SECOND),
        ("9223372036854775807ns", (1 << 63) - 1),
    ],
)
def test_what_go_reads(text, nanoseconds):
    assert go_durations.parse(text) == nanoseconds == flyte_loader.parse_duration(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "1d",
        "5 seconds",
        "5 s",
        ".s",
        "s",
        "-",
        "+-1s",
        "1S",
        "\u0665s",
        "1e3s",
        "9" * 5000 + "s",
        "1s\n",
    ],
)
def test_what_go_refuses(text):
    with pytest.raises(ValueError, match=r"duration|longer"):
        go_durations.parse(text)


def test_more_than_go_can_count_is_refused():
    with pytest.raises(ValueError, match="is not a duration"):
        go_durations.parse("9223372036854775808ns")


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1500, "1.5\u00b5s"),
        (500 * go_durations.MILLISECOND, "500ms"),
        (3 * go_durations.SECOND, "3s"),
        (90 * go_durations.SECOND, "1m30s"),
        (go_durations.HOUR, "1h0m0s"),
        (5 * go_durations.MINUTE, "5m0s"),
    ],
)
def test_what_go_writes(nanoseconds, text):
    assert go_durations.write(nanoseconds) == text


@given(st.integers(-(1 << 63) + 1, (1 << 63) - 1))
def test_what_is_written_is_read_again(nanoseconds):
    text = go_durations.write(nanoseconds)

    assert go_durations.parse(text) == nanoseconds == flyte_loader.parse_duration(text)
