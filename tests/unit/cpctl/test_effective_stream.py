"""What a stream of effective values says about a snapshot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpctl.portable.effective_stream import (
    Comparison,
    EventReader,
    StreamEvent,
    longest_age,
    must_be_renewed,
    rest_seconds,
)
from cpctl.portable.snapshots import Snapshot

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
HERE, ELSEWHERE = {"project": "a"}, {"project": "b"}


def snapshot(*, age=timedelta(0), valid=timedelta(hours=8)):
    items = {("a", "", "", ""): {"etag": '"1"', "items": []}}
    return Snapshot(NOW - age, NOW - age + valid, 7, "", items)


def effective(etag, scope=HERE):
    return StreamEvent("effective", {"scope": scope, "etag": etag})


BOOKMARK = StreamEvent("bookmark", {"revision": 7})


@pytest.mark.parametrize(
    ("events", "answers"),
    [
        ([BOOKMARK], [False]),
        ([effective('"1"'), BOOKMARK], [None, False]),
        ([effective('"2"'), BOOKMARK], [None, True]),
        ([effective('"2"'), effective('"1"'), BOOKMARK, BOOKMARK], [None, None, True, False]),
        ([effective('"1"', ELSEWHERE), BOOKMARK], [None, True]),
        ([StreamEvent("comment", {}), BOOKMARK], [None, False]),
    ],
)
def test_a_snapshot_is_outdated_if_an_etag_differs(events, answers):
    comparison = Comparison()

    assert [comparison.is_outdated(snapshot(), event) for event in events] == answers


@given(st.lists(st.sampled_from(["effective", "bookmark"])), st.integers(0, 3))
def test_whole_events_are_read_and_half_of_one_is_not(names, cut):
    lines = [line for name in names for line in (f"event: {name}", 'data: {"etag": "1"}', "")]
    whole = lines[: len(lines) - cut] if cut else lines
    reader = EventReader()

    events = [event for line in whole if (event := reader.feed(line))]

    assert [event.name for event in events] == names[: len(whole) // 3]


def test_comments_and_other_data_are_no_events():
    reader = EventReader()
    lines = [": hello", "", "event: bookmark", "", "data: 1", "", "event:x", "data:[1]", ""]

    assert [event for line in lines if (event := reader.feed(line))] == [StreamEvent("x", {})]


@pytest.mark.parametrize(
    ("failed", "luck", "retry_after", "seconds"),
    [
        (1, 0.0, "", 0.25),
        (1, 1.0, "", 0.75),
        (9, 1.0, "", 30.25),
        (1, 0.0, "7", 7.0),
        (1, 0.0, "999", 30.0),
        (1, 0.0, "Sat, 21 Nov 2026 09:30:00 GMT", 0.25),
        (10**6, 1.0, "", 30.25),
    ],
)
def test_the_rest_before_the_next_connection(failed, luck, retry_after, seconds):
    assert rest_seconds(failed, luck, retry_after) == seconds


def test_a_file_is_renewed_long_before_it_is_too_old():
    assert longest_age(snapshot(), None) == timedelta(hours=8)
    assert longest_age(snapshot(), timedelta(minutes=4)) == timedelta(minutes=4)
    assert must_be_renewed(snapshot(age=timedelta(minutes=61)), None, NOW)
    assert not must_be_renewed(snapshot(age=timedelta(minutes=59)), None, NOW)
    assert must_be_renewed(snapshot(age=timedelta(seconds=61)), timedelta(minutes=4), NOW)
    assert not must_be_renewed(snapshot(age=timedelta(seconds=59)), timedelta(minutes=4), NOW)
