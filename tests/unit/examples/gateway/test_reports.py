"""For which agents the gateway sends heartbeats, when, and with what."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

A, B = "019a9f5e-7c00-7000-8000-00000000000a", "019a9f5e-7c00-7000-8000-00000000000b"


@pytest.fixture
def reports(program):
    return program.reports.Reports(limit=30.0)


def take(reports, now, until=None):
    return [
        (name, json.loads(entry))
        for name, entry in reports.take_due(now, until=now if until is None else until)
    ]


def test_a_new_agent_is_due_at_once_with_all_that_it_reports(reports):
    assert reports.accept(A, {"consumer_lag": 3, "versions": {"agent": '1"'}}, 100.0) is None

    ((agent_id, entry),) = take(reports, 100.0)

    assert agent_id == entry["agent_id"] == A
    assert (entry["consumer_lag"], entry["versions"]) == (3, {"agent": '1"'})
    assert take(reports, 100.0) == []


def test_an_agent_whose_report_is_too_old_gets_no_heartbeat_until_it_reports_again(reports):
    reports.accept(A, {"consumer_lag": 0}, 100.0)
    reports.accept(B, {"consumer_lag": 0}, 100.1)

    assert [agent_id for agent_id, _ in take(reports, 130.05)] == [B]

    reports.accept(A, {"consumer_lag": 0}, 131.0)
    assert [agent_id for agent_id, _ in take(reports, 131.0)] == [A]


def test_reports_that_are_repeated_make_no_further_heartbeats(reports):
    for second in range(5):
        reports.accept(A, {"consumer_lag": second}, 100.0 + second)

    ((_, entry),) = take(reports, 105.0)

    assert entry["consumer_lag"] == 4
    assert take(reports, 105.0) == []


def test_the_second_heartbeats_are_spread_over_the_interval_and_later_ones_keep_their_place(reports):
    agents = [f"019a9f5e-7c00-7000-8000-{number:012}" for number in range(400)]
    for agent in agents:
        reports.accept(agent, {"consumer_lag": 0}, 0.0)
    reports.settle([(agent_id, {}, 20.0) for agent_id, _ in take(reports, 0.0)], 0.0)

    per_quarter = [len(take(reports, 0.0, until=limit)) for limit in (5.0, 10.0, 15.0, 20.0)]

    assert sum(per_quarter) == 400
    assert min(per_quarter) > 50
    reports.settle([(agents[0], {}, 20.0)], 7.0)
    assert take(reports, 7.0, until=26.9) == []
    assert len(take(reports, 7.0, until=27.0)) == 1


def test_the_agent_learns_the_last_answer_to_its_heartbeat(reports):
    reports.accept(A, {"consumer_lag": 0}, 0.0)
    take(reports, 0.0)
    reports.settle([(A, {"status": 404, "code": "unknown_agent"}, 20.0)], 0.0)

    assert reports.accept(A, {"consumer_lag": 0}, 1.0) == {"status": 404, "code": "unknown_agent"}


@pytest.mark.parametrize("skew", [-120, 0, 300])
def test_the_time_is_that_of_the_agents_clock_when_the_heartbeat_is_sent(reports, skew):
    agents_clock = datetime.now(UTC) + timedelta(seconds=skew)
    reports.accept(A, {"timestamp": agents_clock.isoformat(), "consumer_lag": 0}, 0.0)

    ((_, entry),) = take(reports, 0.0)

    shown = datetime.fromisoformat(entry["timestamp"]) - datetime.now(UTC)
    assert abs(shown.total_seconds() - skew) < 5


@pytest.mark.parametrize("timestamp", [None, "yesterday", 5, "9999-12-31T23:59:59Z", "2026-11-21T09:30:00"])
def test_a_bad_timestamp_does_not_stop_the_gateway(reports, timestamp):
    reports.accept(A, {"timestamp": timestamp, "consumer_lag": 0}, 0.0)

    ((_, entry),) = take(reports, 0.0)

    assert abs((datetime.fromisoformat(entry["timestamp"]) - datetime.now(UTC)).total_seconds()) < 5


def test_no_request_is_larger_than_the_control_plane_accepts(program, reports):
    for number in range(1500):
        reports.accept(f"019a9f5e-7c00-7000-8000-{number:012}", {"consumer_lag": 0}, 0.0)
    big = {"consumer_lag": 0, "versions": {"agent": "x" * 60_000}}
    assert [len(take(reports, 0.0)) for _ in range(3)] == [program.reports.MAX_ENTRIES, 500, 0]

    for number in range(30):
        reports.accept(f"019a9f5e-7c00-7000-8000-1{number:011}", big, 0.0)
    assert sum(len(entry) for _, entry in reports.take_due(0.0, until=0.0)) < 1024 * 1024 - 2000
