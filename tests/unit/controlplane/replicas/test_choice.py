"""Which reads go to a replica: decisions, and the laws that they keep for every history."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.replicas.choice import (
    KNOWN_SECONDS,
    MOST_STALENESS,
    Choice,
    Outcome,
    Replayed,
    Sample,
    Wish,
    accepted_staleness,
    choose,
    is_known,
    staleness_headers,
)
from controlplane.replicas.positions import Position, parse_lsn, parse_position

FIVE = Wish(5.0)


def at(lsn: int, timeline: int = 1) -> Position:
    return Position(timeline, lsn)


SAMPLES = (Sample(at(100), 10.0), Sample(at(200), 11.0), Sample(at(300), 12.0))


@pytest.mark.parametrize(
    ("wish", "replayed", "choice"),
    [
        (FIVE, Replayed(at(300), 12.0), Choice(Outcome.REPLICA, 0.5)),
        (FIVE, Replayed(at(999), 12.0), Choice(Outcome.REPLICA, 0.5)),
        (FIVE, Replayed(at(299), 12.0), Choice(Outcome.REPLICA, 1.5)),
        (Wish(1.0), Replayed(at(299), 12.0), Choice(Outcome.STALE)),
        (FIVE, Replayed(at(99), 12.0), Choice(Outcome.STALE)),
        (FIVE, None, Choice(Outcome.AWAY)),
        (FIVE, Replayed(at(999, timeline=2), 12.0), Choice(Outcome.TIMELINE)),
        (Wish(5.0, at(250)), Replayed(at(250), 12.0), Choice(Outcome.REPLICA, 1.5)),
        (Wish(5.0, at(251)), Replayed(at(250), 12.0), Choice(Outcome.BEHIND, 1.5)),
        (Wish(5.0, at(10, timeline=2)), Replayed(at(300), 12.0), Choice(Outcome.TIMELINE)),
    ],
)
def test_a_read_goes_to_the_replica_only_if_it_has_what_the_request_needs(
    wish: Wish, replayed: Replayed | None, choice: Choice
):
    assert choose(wish, replayed, SAMPLES, 12.5) == choice


def test_nothing_is_known_before_the_first_sample():
    assert choose(FIVE, Replayed(at(300), 12.0), (), 12.5) == Choice(Outcome.STALE)


def test_a_replica_of_the_old_timeline_is_not_used_after_a_failover():
    samples = (*SAMPLES, Sample(at(150, timeline=2), 12.4))
    assert choose(FIVE, Replayed(at(999), 12.45), samples, 12.5) == Choice(Outcome.TIMELINE)


@pytest.mark.parametrize(("staleness", "waits"), [(0.3, True), (1.0, True), (2.0, False)])
def test_a_request_waits_only_for_a_replica_that_is_near(staleness: float, waits: bool):
    assert Choice(Outcome.BEHIND, staleness).is_worth_waiting is waits
    assert not Choice(Outcome.STALE, staleness).is_worth_waiting


def test_what_a_replica_said_is_kept_for_a_quarter_of_a_second():
    replayed = Replayed(at(1), 10.0)
    assert is_known(replayed, 10.0 + KNOWN_SECONDS)
    assert not is_known(replayed, 10.01 + KNOWN_SECONDS)
    assert not is_known(None, 0.0)


@st.composite
def histories(draw: st.DrawFn):
    """A primary that confirms changes, samples of it, and a replica that has replayed some of them."""
    gaps = draw(st.lists(st.tuples(st.floats(0, 3), st.integers(1, 50)), min_size=1, max_size=30))
    changes, now, lsn = [], 0.0, 0
    for gap, size in gaps:
        now, lsn = now + gap, lsn + size
        changes.append((now, lsn))
    moments = sorted(draw(st.lists(st.floats(0, now + 1), max_size=30)))
    done = [(0.0, 0), *changes]
    samples = tuple(
        # It may have written more by the time it answers.
        Sample(at(max(lsn for when, lsn in done if when <= moment) + draw(st.integers(0, 9))), moment)
        for moment in moments
    )
    read_at = max([now, *moments]) + draw(st.floats(0, 3))
    wish = Wish(draw(st.floats(0, 10)), draw(st.none() | st.builds(at, st.integers(0, lsn + 5))))
    return changes, samples, Replayed(at(draw(st.integers(0, lsn + 9))), read_at), wish, read_at


@given(histories())
def test_no_read_is_older_than_it_says_or_than_the_request_accepts(history):
    changes, samples, replayed, wish, read_at = history
    choice = choose(wish, replayed, samples, read_at)
    if choice.outcome is Outcome.REPLICA:
        assert choice.staleness <= wish.bound
        assert wish.position is None or replayed.position.lsn >= wish.position.lsn
        missing = [when for when, lsn in changes if lsn > replayed.position.lsn]
        assert all(when > read_at - choice.staleness for when in missing)


@given(histories(), st.integers(1, 50))
def test_a_replica_that_has_more_is_never_the_worse_choice(history, more: int):
    _, samples, replayed, wish, read_at = history
    further = Replayed(at(replayed.position.lsn + more), replayed.asked_at)
    before, after = (choose(wish, each, samples, read_at) for each in (replayed, further))
    if before.outcome is Outcome.REPLICA:
        assert after.outcome is Outcome.REPLICA
        assert after.staleness <= before.staleness


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 5.0),
        ("max-age=0", 0.0),
        ("max-age=60", 5.0),
        ("max-age=0, max-stale=2", 2.0),
        ("Max-Stale=2", 2.0),
        ('private="x"', 5.0),
        ('max-stale="2"', 2.0),
        ("max-stale", MOST_STALENESS),
        ("max-stale=86400", MOST_STALENESS),
        ("max-stale=0", 0.0),
        ("max-stale=-1", 0.0),
        ("max-stale=1.5", 0.0),
        ("max-stale=²", 0.0),
        ("max-stale=soon", 0.0),
        ("no-cache", 0.0),
        ("max-stale=9, no-cache", 0.0),
    ],
)
def test_a_request_says_how_old_its_answer_may_be(header: str, seconds: float):
    assert accepted_staleness(header, 5.0) == seconds


@pytest.mark.parametrize(
    ("seconds", "stated", "age"),
    [(0.0, "0.0", "0"), (0.01, "0.1", "1"), (0.4, "0.4", "1"), (1.0, "1.0", "1"), (4.91, "5.0", "5")],
)
def test_the_stated_staleness_is_rounded_up(seconds: float, stated: str, age: str):
    assert staleness_headers(seconds) == {"X-Controlplane-Staleness": stated, "Age": age}


@given(st.builds(Position, st.integers(1, 2**32 - 1), st.integers(0, 2**64 - 1)))
def test_positions_keep_their_text(position: Position):
    assert parse_position(str(position)) == position


def test_positions_are_those_of_postgres():
    assert Position.of("0000000A0000001600000001", "16/B374D848") == Position(10, 0x16B374D848)
    assert str(Position(10, 0x16B374D848)) == "A/16/B374D848"


@pytest.mark.parametrize("text", ["", "16", "x/1", "1/x"])
def test_what_is_no_lsn_is_refused(text: str):
    with pytest.raises(ValueError, match=r"LSN|literal"):
        parse_lsn(text)
