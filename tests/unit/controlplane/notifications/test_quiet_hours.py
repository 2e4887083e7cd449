"""Quiet hours end at local times, whatever the clocks of the zone do in between."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from controlplane.errors import InvalidRequest
from controlplane.notifications.quiet_hours import quiet_hours_from

NIGHT = {"tz": "Europe/Prague", "windows": [{"from": "22:00", "to": "07:00"}], "except": ["critical"]}
WEEKEND = {
    "tz": "UTC",
    "windows": [
        {"days": ["fri"], "from": "18:00", "to": "00:00"},
        {"days": ["sat", "sun"], "from": "00:00", "to": "00:00"},
    ],
}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ends(document, text: str, severity: str = "warning") -> str | None:
    quiet_hours = quiet_hours_from(document)
    end = quiet_hours.ends_at(at(text), severity)
    return end.strftime("%Y-%m-%d %H:%M") if end else None


@pytest.mark.parametrize(
    ("now", "end"),
    [
        # Winter: UTC+1.
        ("2026-01-10 20:59", None),
        ("2026-01-10 21:00", "2026-01-11 06:00"),
        ("2026-01-11 05:59", "2026-01-11 06:00"),
        ("2026-01-11 06:00", None),
        # Summer: UTC+2.
        ("2026-07-10 20:00", "2026-07-11 05:00"),
        # The clock goes forward in this night: it lasts 8 hours.
        ("2026-03-28 21:00", "2026-03-29 05:00"),
        # The clock goes back in this night: it lasts 10 hours.
        ("2026-10-24 20:00", "2026-10-25 06:00"),
    ],
)
def test_a_night_ends_at_seven_of_the_zone(now, end):
    assert ends(NIGHT, now) == end


def test_windows_that_follow_each_other_are_one():
    # From Friday 18:00 to Monday 00:00.
    assert ends(WEEKEND, "2026-11-20 18:00") == "2026-11-23 00:00"
    assert ends(WEEKEND, "2026-11-20 17:59") is None


def test_what_is_excepted_never_waits():
    assert ends(NIGHT, "2026-01-10 23:00", "critical") is None


def test_a_time_that_the_clock_leaves_out_is_the_moment_after():
    document = {"tz": "Europe/Prague", "windows": [{"from": "01:00", "to": "02:30"}]}
    assert ends(document, "2026-03-29 00:30") == "2026-03-29 01:30"


@pytest.mark.parametrize(
    "document",
    [
        {"tz": "Mars/Base", "windows": []},
        {"tz": "../etc/passwd", "windows": []},
        {"tz": "UTC", "windows": [{"from": "7", "to": "8:00"}]},
    ],
)
def test_what_cannot_be_read_is_refused(document):
    with pytest.raises(InvalidRequest):
        quiet_hours_from(document)
