"""Evidence of hearing as a decision: when silence proves nothing, and what a guard makes of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.environments.fleet_guard import Counts, GuardMode, GuardPolicy, GuardState, judge
from registry.environments.hearing import Hearing, patience_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LEASE = timedelta(seconds=90)
POLICY = GuardPolicy(share=0.2, least=5, lift_share=0.1, longest=timedelta(minutes=15))
SILENT = Counts(live=3, due=3, expired=1)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def hearing(last: float | None, since: float | None = None, least: int = 1) -> Hearing:
    return Hearing(
        None if last is None else ago(last),
        None if since is None else ago(since),
        patience=patience_of(LEASE),
        grace=LEASE,
        least=least,
    )


@pytest.mark.parametrize(("last", "silent"), [(0, False), (60, False), (60.1, True), (600, True)])
def test_two_thirds_of_a_lease_without_any_heartbeat_are_a_silence(last, silent):
    assert (hearing(last).silence(NOW) is not None) is silent


def test_where_nobody_ever_was_heard_there_is_no_silence():
    assert hearing(None).silence(NOW) is None


@pytest.mark.parametrize(
    ("before", "heard", "since"),
    [
        (70, 0, NOW),  # the first after a silence: everybody has time again
        (50, 0, None),
        (None, 0, None),  # the first ever
        (70, 80, None),  # an older one is no news
        (70, None, None),
    ],
)
def test_grace_begins_anew_with_the_first_heartbeat_after_a_silence(before, heard, since):
    after = hearing(before).after(None if heard is None else ago(heard), now=NOW)

    assert after.since == since


@given(st.lists(st.floats(0.1, 40), min_size=1, max_size=60))
def test_agents_that_beat_once_an_interval_are_never_taken_for_a_silence(pauses):
    """Any row of heartbeats, swept every five seconds, with no pause as long as the patience less a sweep."""
    hearing, now, heard = Hearing(patience=patience_of(LEASE), grace=LEASE), ago(0), ago(0)
    for pause in pauses:
        end = heard + timedelta(seconds=pause)
        while now < end:
            assert hearing.silence(now) is None
            hearing = hearing.after(heard, now=now)
            now += timedelta(seconds=5)
        heard = end
    assert hearing.since is None


@given(st.floats(60, 100_000), st.floats(0.1, 5))
def test_after_any_longer_silence_everybody_gets_a_whole_grace(silence, sweep):
    evidence, end = hearing(0), NOW + timedelta(seconds=silence + 0.1)
    now = NOW
    for _ in range(40):
        now += timedelta(seconds=silence * sweep / 5)
        if now >= end:
            break
        evidence = evidence.after(NOW, now=now)
    now = max(now, end) + timedelta(seconds=sweep)

    after = evidence.after(end, now=now)

    assert after.since == now
    assert after.is_returning(now + LEASE - timedelta(seconds=1))
    assert not after.is_returning(now + LEASE)


def test_nobody_heard_engages_the_guard_of_the_smallest_fleet():
    assert not judge(GuardState(), SILENT, POLICY, hearing(10), now=NOW).engaged
    assert judge(GuardState(), SILENT, POLICY, hearing(70), now=NOW).engaged


def test_the_only_agent_of_an_environment_proves_nothing_by_its_silence_and_the_only_one_of_all_does():
    alone = Counts(live=1, due=1, expired=1)

    assert not judge(GuardState(), alone, POLICY, hearing(100, least=2), now=NOW).engaged
    assert judge(GuardState(), alone, POLICY, hearing(100, least=1), now=NOW).engaged


def test_no_time_lifts_a_guard_while_nobody_is_heard():
    engaged = GuardState(engaged_at=ago(100_000))
    counts = Counts(live=0, unknown=60)

    verdict = judge(engaged, counts, POLICY, hearing(100_030), now=NOW)

    assert verdict.engaged
    assert verdict.reason == "No agent has been heard for 1667 min."


@pytest.mark.parametrize(
    ("since", "counts", "engaged"),
    [
        (5, Counts(live=20, unknown=40), True),
        (5, Counts(live=58, unknown=2), True),  # a few are left, and may be on their way
        (5, Counts(live=60), False),
        (91, Counts(live=58, unknown=2), False),
        (91, Counts(live=2, unknown=2), False),  # a small fleet: as the rule judges without a guard
        (91, Counts(live=20, unknown=40), True),  # many are left: doubted for the usual time
        (901, Counts(live=20, unknown=40), False),
    ],
)
def test_after_a_silence_all_have_a_grace_and_then_the_rule_judges(since, counts, engaged):
    state = GuardState(engaged_at=ago(5000))

    assert judge(state, counts, POLICY, hearing(0, since=since), now=NOW).engaged is engaged


def test_whoever_expires_while_the_others_return_is_held_back_too():
    verdict = judge(GuardState(), SILENT, POLICY, hearing(0, since=5), now=NOW)

    assert verdict.engaged


def state_with_mode(mode: GuardMode, seconds_ago: float, engaged_at: datetime | None = None) -> GuardState:
    return GuardState(engaged_at, mode, NOW + timedelta(hours=1), ago(seconds_ago))


def test_a_lift_covers_no_silence_that_began_after_it():
    dead = Counts(live=67, due=67, expired=20)

    assert judge(state_with_mode(GuardMode.LIFT, 400), dead, POLICY, hearing(100), now=NOW).engaged
    # Given while nobody was heard: the operator knows.
    late = judge(state_with_mode(GuardMode.LIFT, 30), dead, POLICY, hearing(100), now=NOW)
    assert (late.engaged, late.mode) == (False, GuardMode.LIFT)


@pytest.mark.parametrize(
    ("counts", "mode"),
    [
        (Counts(live=20, unknown=30), GuardMode.LIFT),  # not marked yet
        (Counts(live=20, gone=30), GuardMode.LIFT),
        (Counts(live=20, due=1, expired=1), None),
        (Counts(live=100, due=9, expired=9), None),
        (Counts(live=50), None),
    ],
)
def test_a_lift_ends_with_its_incident(counts, mode):
    assert judge(state_with_mode(GuardMode.LIFT, 10), counts, POLICY, hearing(1), now=NOW).mode is mode


def test_an_engaged_ruling_holds_for_its_time_whatever_is_heard():
    for heard in (0, 500):
        verdict = judge(
            state_with_mode(GuardMode.ENGAGE, 1000), Counts(live=5), POLICY, hearing(heard), now=NOW
        )
        assert (verdict.engaged, verdict.mode) == (True, GuardMode.ENGAGE)
