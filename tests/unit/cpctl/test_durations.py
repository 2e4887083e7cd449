"""Durations after --timeout."""

from __future__ import annotations

import pytest

from cpctl.durations import read_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("90s", 90.0), ("0.2", 0.2), ("2m", 120.0), ("1.5h", 5400.0), ("0", 0.0), (60.0, 60.0)],
)
def test_a_number_is_seconds_and_units_multiply(text: str | float, seconds: float) -> None:
    assert read_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "-1", "2 m", "1d", "m", "nan", "1e3", "٣"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="90, 90s, 2m, 1h"):
        read_seconds(text)
