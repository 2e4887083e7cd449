"""What probes mean, and when an endpoint is asked again."""

from __future__ import annotations

import pytest

from registry.agent_configs.bundles.conditions import Status
from registry.agent_configs.reachability.judge import (
    NEVER_PROBED,
    Outcome,
    ProbeThresholds,
    combine_outcomes,
    judge_outcome,
    seconds_until_next_probe,
)

UP = Outcome(Status.TRUE, "Reachable")
DOWN = Outcome(Status.FALSE, "ConnectFailed", "refused")
UNKNOWN = Outcome(Status.UNKNOWN, "NotResolved")
PATIENCE = ProbeThresholds(failures=3, successes=2)


def after(*found: Outcome):
    finding = NEVER_PROBED
    for outcome in found:
        finding = judge_outcome(finding, outcome, PATIENCE)
    return finding


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ((), Status.UNKNOWN),
        ((UP,), Status.TRUE),
        ((DOWN,), Status.UNKNOWN),
        ((DOWN, DOWN), Status.UNKNOWN),
        ((DOWN, DOWN, DOWN), Status.FALSE),
        ((UP, DOWN, DOWN), Status.TRUE),
        ((UP, DOWN, DOWN, UP, DOWN, DOWN), Status.TRUE),
        ((UP, DOWN, DOWN, DOWN), Status.FALSE),
        ((DOWN, DOWN, DOWN, UP), Status.FALSE),
        ((DOWN, DOWN, DOWN, UP, UP), Status.TRUE),
        ((DOWN, DOWN, DOWN, UP, DOWN, UP), Status.FALSE),
        ((UNKNOWN,), Status.UNKNOWN),
        ((UP, UNKNOWN, UNKNOWN), Status.TRUE),
        ((UP, UNKNOWN, UNKNOWN, UNKNOWN), Status.UNKNOWN),
    ],
)
def test_one_failure_is_none_and_one_success_no_recovery(outcomes, status):
    assert after(*outcomes).outcome.status is status


def test_the_reason_is_that_of_the_last_probe_that_says_the_same():
    slow = Outcome(Status.FALSE, "TimedOut")

    assert after(DOWN, DOWN, DOWN, slow).outcome is slow
    assert after(DOWN, DOWN, DOWN, UP).outcome is DOWN


@pytest.mark.parametrize(
    ("outcomes", "seconds"),
    [((UP,), 60), ((UP, DOWN), 15), ((DOWN,) * 3, 60), ((DOWN,) * 10, 120), ((DOWN,) * 500, 480)],
)
def test_doubts_are_cleared_soon_and_what_is_away_is_asked_less_often(outcomes, seconds):
    assert seconds_until_next_probe(after(*outcomes), 60, 0.5) == pytest.approx(seconds)
    assert seconds_until_next_probe(after(*outcomes), 60, 0.0) == pytest.approx(0.8 * seconds)


def test_a_document_is_as_reachable_as_its_worst_agent():
    assert combine_outcomes([]) is None
    assert combine_outcomes([UP, UP]).reachable is True
    assert (combine_outcomes([UP, UNKNOWN]).reachable, combine_outcomes([UP, UNKNOWN]).reason) == (
        None,
        "NotResolved",
    )
    assert (combine_outcomes([UNKNOWN, UP, DOWN]).reachable, combine_outcomes([DOWN]).message) == (
        False,
        "refused",
    )
