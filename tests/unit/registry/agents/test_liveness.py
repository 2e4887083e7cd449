"""Liveness as decisions: every boundary in one place."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from registry.agents.clock_skew import clock_condition, skew_ms, with_clock
from registry.agents.liveness import LivenessPolicy, has_expired, reachable_since
from registry.agents.states import LIVE, TRANSITIONS, State, after_heartbeat

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
POLICY = LivenessPolicy(interval=timedelta(seconds=30), lease=timedelta(seconds=90), jitter=0.2)
LONG_AGO = NOW - timedelta(days=1)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize(("silence", "late"), [(0, False), (45, False), (45.1, True), (89, True)])
def test_an_agent_is_late_past_one_and_a_half_intervals(silence, late):
    assert POLICY.is_late(ago(silence), now=NOW) is late


@pytest.mark.parametrize(
    ("expired_ago", "up_for", "expired"),
    [
        (0, 1000, False),
        (0.1, 1000, True),
        (-1, 1000, False),
        # After an outage of ours everybody gets one whole lease to report back.
        (500, 0, False),
        (500, 90, False),
        (500, 90.1, True),
    ],
)
def test_a_lease_ends_at_its_time_but_not_right_after_our_own_outage(expired_ago, up_for, expired):
    is_expired = has_expired(ago(expired_ago), reachable_since=ago(up_for), policy=POLICY, now=NOW)

    assert is_expired is expired


def test_the_grace_covers_two_intervals_even_if_the_lease_does_not():
    short = LivenessPolicy(interval=timedelta(seconds=60), lease=timedelta(seconds=90), jitter=0)

    assert short.grace() == timedelta(seconds=120)


@pytest.mark.parametrize(("gap", "since"), [(29, LONG_AGO), (30, LONG_AGO), (30.1, NOW)])
def test_a_gap_in_the_sweeps_is_an_outage(gap, since):
    assert reachable_since(ago(gap), LONG_AGO, gap=timedelta(seconds=30), now=NOW) == since


def test_before_the_first_sweep_we_were_not_there():
    assert reachable_since(None, None, gap=timedelta(seconds=30), now=NOW) == NOW


def test_jitter_only_shortens_the_interval():
    chance = random.Random(1)

    waits = [POLICY.next_interval(chance) for _ in range(1000)]

    assert 24 <= min(waits) < 25
    assert 29 < max(waits) <= 30


@pytest.mark.parametrize(
    ("live", "interval", "lease"), [(0, 30, 90), (10_000, 30, 90), (108_000, 30, 90), (1_000_000, 278, 834)]
)
def test_the_interval_follows_the_fleet_and_the_lease_the_interval(live, interval, lease):
    policy = POLICY.for_fleet(live, rate=4000)

    assert policy.interval == timedelta(seconds=interval)
    assert policy.lease == timedelta(seconds=lease)


@pytest.mark.parametrize("live", [10, 1000, 10_000, 100_000, 3_000_000])
def test_no_fleet_sends_more_than_the_set_rate(live):
    policy, chance = POLICY.for_fleet(live, rate=500), random.Random(1)

    mean = sum(policy.next_interval(chance) for _ in range(2000)) / 2000

    assert live / mean <= 500 * 1.01


def test_an_agent_comes_due_once_it_is_late():
    assert POLICY.soon() == timedelta(seconds=45)


def test_the_table_of_transitions_is_total_and_leads_back():
    assert set(TRANSITIONS) == set(State)
    assert all(State.READY in TRANSITIONS[state] for state in State if state is not State.READY)
    assert State.UNAVAILABLE not in LIVE


@pytest.mark.parametrize(("lag", "state"), [(0, State.READY), (99, State.READY), (100, State.CONGESTED)])
def test_an_agent_is_congested_from_the_threshold_on(lag, state):
    assert after_heartbeat(lag, congestion_lag=100) is state


@pytest.mark.parametrize(
    ("seconds", "status", "words"),
    [
        (0, "true", None),
        (-5, "true", None),
        (5.001, "false", "5 s ahead of ours"),
        (-7200, "false", "7200 s behind ours"),
        (1e9, "false", "ahead of ours"),
    ],
)
def test_a_clock_is_synced_within_five_seconds_of_ours(seconds, status, words):
    condition = clock_condition(skew_ms(NOW + timedelta(seconds=seconds), NOW))

    assert (condition["type"], condition["status"]) == ("ClockSynced", status)
    assert words is None or words in condition["message"]


def test_of_its_clock_we_know_better_than_the_agent():
    conditions = [{"type": "ClockSynced", "status": "true"}, {"type": "DiskPressure", "status": "false"}]

    assert [(condition["type"], condition["status"]) for condition in with_clock(conditions, -60_000)] == [
        ("DiskPressure", "false"),
        ("ClockSynced", "false"),
    ]
    assert clock_condition(skew_ms(None, NOW))["status"] == "unknown"
