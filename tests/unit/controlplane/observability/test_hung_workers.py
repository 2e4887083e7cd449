"""When a worker counts as hung."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from controlplane.observability.hung_workers import (
    LONGEST_PATIENCE_SECONDS,
    LONGEST_STEP_SECONDS,
    REMEMBERED_SECONDS,
    add_silence,
    hung_workers,
    patience,
)


def test_silence_adds_up_until_a_worker_is_heard():
    silences = add_silence({}, {7, 8}, elapsed=0.5)
    for _ in range(10):
        silences = add_silence(silences, {8}, elapsed=0.5)

    assert silences == {7: 5.0, 8: 0.0}
    assert hung_workers(silences, patience=4.9) == [7]
    assert hung_workers(silences, patience=5.0) == []


def test_a_worker_that_was_never_heard_still_starts_and_is_not_judged():
    assert hung_workers(add_silence({}, set(), elapsed=100), patience=1) == []


@given(elapsed=some.floats(-10, 1e9))
def test_time_in_which_the_watcher_did_not_run_itself_counts_for_nobody(elapsed):
    silences = add_silence({1: 0.0}, set(), elapsed=elapsed)

    assert 0 <= silences[1] <= LONGEST_STEP_SECONDS


def test_each_recent_restart_doubles_the_patience_up_to_a_limit():
    now = 10_000.0

    assert patience(30, restarts=[], now=now) == 30
    assert patience(30, restarts=[now - 5], now=now) == 60
    assert patience(30, restarts=[now - 5, now - 50], now=now) == 120
    assert patience(30, restarts=[now - REMEMBERED_SECONDS], now=now) == 30
    assert patience(30, restarts=[now] * 50, now=now) == LONGEST_PATIENCE_SECONDS
    assert patience(3600, restarts=[], now=now) == 3600
