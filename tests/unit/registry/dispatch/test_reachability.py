"""Decisions of the reachability test: what counts as evidence, and what can still decide."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.dispatch.delivery.reachability import (
    ByHttps,
    ByNats,
    Consumer,
    Heartbeats,
    Requests,
    Verdict,
    judge_reachability,
)

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
LASTS = timedelta(seconds=120)
SECOND = timedelta(seconds=1)


def heartbeats(ago: float, lease: float = 30) -> Heartbeats:
    renewed = NOW - timedelta(seconds=ago)
    return Heartbeats(renewed, renewed + timedelta(seconds=lease), timedelta(seconds=10))


def fetched(ago: float) -> ByHttps:
    return ByHttps(NOW - timedelta(seconds=ago), LASTS)


LISTENS = ByNats(Consumer(0, 0, is_listening=True))


@pytest.mark.parametrize(
    ("last", "since", "verdict", "is_finished"),
    [
        (4, None, Verdict.REACHABLE, True),
        (31, None, Verdict.UNREACHABLE, True),
        (4, 5, Verdict.REACHABLE, True),
        (5, 5, Verdict.REACHABLE, True),
        (4, 3, Verdict.UNKNOWN, False),
        (30, 3, Verdict.UNREACHABLE, True),
    ],
)
def test_heartbeats_of_the_test_count(
    last: float, since: float | None, verdict: Verdict, is_finished: bool
) -> None:
    begin = None if since is None else NOW - timedelta(seconds=since)
    outcome = judge_reachability(heartbeats(last), None, since=begin, now=NOW)
    assert (outcome.verdict, outcome.is_finished) == (verdict, is_finished)
    assert [check.way.value for check in outcome.checks] == ["heartbeats"]


@pytest.mark.parametrize(
    ("requests", "verdict", "words"),
    [
        (LISTENS, Verdict.REACHABLE, "waits for requests"),
        (ByNats(Consumer(5, 2, is_listening=False)), Verdict.REACHABLE, "handles 2"),
        (ByNats(Consumer(5, 0, is_listening=False)), Verdict.UNREACHABLE, "where 5 requests wait"),
        (ByNats(Consumer(0, 0, is_listening=False)), Verdict.UNKNOWN, "Test again"),
        (ByNats(), Verdict.UNREACHABLE, "no consumer in NATS"),
        (ByNats(problem="NATS does not answer."), Verdict.UNKNOWN, "does not answer"),
        (fetched(119), Verdict.REACHABLE, "fetches requests by HTTPS"),
        (fetched(121), Verdict.UNREACHABLE, "more than 120 s"),
        (ByHttps(None, LASTS), Verdict.UNREACHABLE, "more than 120 s"),
    ],
)
def test_requests_are_judged_beside_heartbeats(requests: Requests, verdict: Verdict, words: str) -> None:
    outcome = judge_reachability(heartbeats(1), requests, since=None, now=NOW)
    assert outcome.verdict is verdict
    assert words in outcome.message


def test_a_fetch_before_the_test_does_not_count() -> None:
    outcome = judge_reachability(heartbeats(1), fetched(9), since=NOW - 5 * SECOND, now=NOW)
    assert (outcome.verdict, outcome.is_finished) == (Verdict.UNKNOWN, False)
    assert judge_reachability(heartbeats(1), fetched(3), since=NOW - 5 * SECOND, now=NOW).is_finished


_AGES = st.floats(min_value=0, max_value=1000)
_REQUESTS = st.one_of(
    st.none(),
    st.builds(fetched, _AGES),
    st.builds(
        ByNats,
        st.one_of(
            st.none(),
            st.builds(Consumer, st.integers(0, 9), st.integers(0, 9), is_listening=st.booleans()),
        ),
    ),
)


@given(_AGES, _REQUESTS, _AGES)
def test_every_test_ends_and_its_worst_check_counts(
    last: float, requests: Requests | None, begun: float
) -> None:
    begin = NOW - timedelta(seconds=begun)
    facts = heartbeats(last)
    outcome = judge_reachability(facts, requests, since=begin, now=NOW)
    verdicts = {check.verdict for check in outcome.checks}
    assert outcome.verdict in verdicts
    assert (outcome.verdict is Verdict.REACHABLE) == (verdicts == {Verdict.REACHABLE})
    # Without any further sign of the agent, the longest lease and the longest fetch have passed by then.
    later = NOW + LASTS + timedelta(seconds=30)
    assert judge_reachability(facts, requests, since=begin, now=later).is_finished
