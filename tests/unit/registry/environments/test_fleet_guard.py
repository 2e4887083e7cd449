"""The fleet guard as a decision: when it engages, when it is lifted, who may say otherwise."""

from datetime import UTC, datetime, timedelta

import pytest

from registry.environments.fleet_guard import Counts, GuardMode, GuardPolicy, GuardState, judge

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
POLICY = GuardPolicy(share=0.2, least=5, lift_share=0.1, longest=timedelta(minutes=15))
OFF = GuardState()


def on(minutes: float) -> GuardState:
    return GuardState(engaged_at=NOW - timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("counts", "engaged"),
    [
        (Counts(live=25, due=5, expired=1), True),
        (Counts(live=26, due=5, expired=1), False),  # under a fifth
        (Counts(live=5, due=4, expired=4), False),  # too few to tell
        (Counts(live=5, due=5, expired=5), True),
        (Counts(live=50, due=1, expired=1), False),
        (Counts(live=100, due=60, expired=0), False),  # late, but nobody is about to be marked
        (Counts(live=97, due=17, expired=1, gone=3), True),  # those just marked count too
        (Counts(live=97, due=17, expired=1, unknown=9), False),  # those of an earlier time do not
        (Counts(), False),
    ],
)
def test_it_engages_when_a_fifth_and_five_fall_silent(counts, engaged):
    assert judge(OFF, counts, POLICY, now=NOW).engaged is engaged


@pytest.mark.parametrize(
    ("minutes", "counts", "engaged"),
    [
        (1, Counts(live=40, unknown=60), True),
        (1, Counts(live=90, unknown=10), True),
        (1, Counts(live=91, unknown=9), False),
        (1, Counts(live=100), False),
        (1, Counts(), False),
        (14.9, Counts(live=40, unknown=60), True),
        (15, Counts(live=40, unknown=60), False),
    ],
)
def test_it_is_lifted_under_a_tenth_or_after_a_quarter_of_an_hour(minutes, counts, engaged):
    assert judge(on(minutes), counts, POLICY, now=NOW).engaged is engaged


def test_once_lifted_it_does_not_engage_again_for_those_that_it_held_back():
    held_back = Counts(live=40, unknown=60, expired=0)

    assert not judge(OFF, held_back, POLICY, now=NOW).engaged


def test_without_a_longest_time_only_an_operator_lifts_it():
    policy = GuardPolicy(share=0.2, least=5, lift_share=0.1, longest=timedelta())

    assert judge(on(6000), Counts(live=40, unknown=60), policy, now=NOW).engaged


@pytest.mark.parametrize(("mode", "engaged"), [(GuardMode.ENGAGE, True), (GuardMode.LIFT, False)])
def test_an_operators_ruling_holds_until_its_time(mode, engaged):
    calm, storm = Counts(live=100), Counts(live=100, due=60, expired=60)
    for counts in (calm, storm):
        for since in (None, NOW):
            guard_state = GuardState(since, mode, NOW + timedelta(seconds=1))
            over = GuardState(since, mode, NOW)
            assert judge(guard_state, counts, POLICY, now=NOW).engaged is engaged
            assert judge(over, counts, POLICY, now=NOW).engaged is (counts is storm)


def test_it_says_how_many_of_how_many():
    verdict = judge(OFF, Counts(live=50, due=30, expired=2, gone=2), POLICY, now=NOW)

    assert (verdict.silent, verdict.agents) == (32, 52)
    assert verdict.reason == "32 of 52 agents fell silent together."
