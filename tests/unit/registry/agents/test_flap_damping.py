"""Flap damping as a decision: the first return is free, later ones must be proved."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from registry.agents.flap_damping import DampingPolicy, FlapRecord, judge_return

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LEASE = timedelta(seconds=90)
POLICY = DampingPolicy(half_life=timedelta(minutes=10), hold=LEASE, longest=timedelta(minutes=10))


def come_back(record: FlapRecord, at: float, *, unbroken: bool = False):
    return judge_return(record, unbroken=unbroken, policy=POLICY, now=NOW + timedelta(seconds=at))


def test_the_first_return_counts_at_once():
    first = come_back(FlapRecord(), 0)

    assert not first.wait
    assert first.record.steady_since is None


def test_the_second_return_must_beat_for_a_lease_without_a_pause():
    first = come_back(FlapRecord(), 0)

    waits = [come_back(first.record, 120)]
    for at in (150, 180, 209):
        waits.append(come_back(waits[-1].record, at, unbroken=True))
    back = come_back(waits[-1].record, 210, unbroken=True)

    assert [wait.wait.total_seconds() for wait in waits] == [90, 60, 30, 1]
    assert not back.wait


def test_a_pause_begins_the_row_anew_and_makes_it_longer():
    second = come_back(come_back(FlapRecord(), 0).record, 120)

    third = come_back(second.record, 300)

    assert third.record.penalty > second.record.penalty
    assert third.wait >= LEASE


def test_no_row_is_longer_than_the_longest():
    record = FlapRecord()
    for number in range(200):
        record = come_back(record, number).record

    assert come_back(record, 200).wait == POLICY.longest


def test_an_hour_later_all_is_forgotten():
    second = come_back(come_back(FlapRecord(), 0).record, 120)

    assert not come_back(second.record, 120 + 3600).wait


@given(st.lists(st.floats(91, 600), min_size=1, max_size=40))
def test_heartbeats_that_alternate_with_silence_change_the_state_once_at_most_in_a_window(pauses):
    """Each return after a silence longer than the lease, within ten minutes of the one before."""
    record, at, returns = FlapRecord(), 0.0, []
    for pause in pauses:
        judged = come_back(record, at)
        record = judged.record
        if not judged.wait:
            returns.append(at)
        at += pause

    assert all(later - earlier > 300 for earlier, later in pairwise(returns))
