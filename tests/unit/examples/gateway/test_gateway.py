"""What the gateway makes of answers and refusals."""

from __future__ import annotations

import json
import time

import pytest

BEAT = {"heartbeat_interval": 40, "next_heartbeat_in_seconds": 36.5}


class Plane:
    """Stands for the control plane's endpoint: refuses what it is told to refuse, accepts the rest."""

    def __init__(self, program):
        self.program, self.sizes, self.failures, self.poison = program, [], [], ""

    def send(self, entries):
        self.sizes.append(len(entries))
        if self.failures:
            raise self.failures.pop()
        if self.poison and any(self.poison in entry for entry in entries):
            raise self.program.bulk_client.Refused(400, "malformed")
        return [
            {"agent_id": json.loads(entry)["agent_id"], "status": 200, "heartbeat": BEAT} for entry in entries
        ]


@pytest.fixture
def plane(program):
    return Plane(program)


@pytest.fixture
def gateway(program, plane):
    return program.gateway.Gateway(plane, program.reports.Reports(30.0))


def report(gateway, *numbers):
    for number in numbers:
        gateway.reports.accept(f"agent-{number}-", {"consumer_lag": 0}, time.monotonic())


def test_it_sends_what_is_due_in_one_request_and_follows_the_servers_interval(gateway, plane):
    report(gateway, *range(700))

    assert gateway.step() <= 0.5

    assert (plane.sizes, gateway.renewed_count, gateway.interval) == ([700], 700, 40)


def test_after_a_request_it_waits_so_that_the_next_one_is_no_smaller_than_needed(gateway, plane, monkeypatch):
    report(gateway, *range(1200))
    monkeypatch.setattr("random.random", lambda: 0.9)

    assert [gateway.step(), gateway.step()] == [0, 0.5]

    assert plane.sizes == [1000, 200]


def test_when_nothing_is_due_it_waits_a_small_share_of_the_interval(gateway, plane):
    gateway.interval = 300.0

    assert gateway.step() == 3.0
    assert plane.sizes == []


@pytest.mark.parametrize("status", [401, 429, 503])
def test_it_waits_no_less_than_retry_after_and_then_sends_the_same_agents(gateway, plane, program, status):
    report(gateway, 1, 2)
    plane.failures = [program.bulk_client.Refused(status, "busy", 7.0)]

    assert 7 <= gateway.step() <= 7 + program.gateway.FIRST_PAUSE

    assert gateway.step() <= 0.5
    assert plane.sizes == [2, 2]


def test_pauses_grow_while_the_control_plane_is_away_but_not_beyond_the_interval(gateway, plane):
    report(gateway, 1)
    gateway.interval = 16.0
    plane.failures = [ConnectionRefusedError() for _ in range(60)]

    waits = [gateway.step() for _ in range(60)]

    assert waits[0] <= 1
    assert 8 < max(waits) <= 16
    assert gateway.step() <= 0.5
    assert gateway.tries == 0


def test_an_agent_that_dies_while_the_control_plane_is_away_gets_no_heartbeat_afterwards(gateway, plane):
    report(gateway, 1)
    plane.failures = [ConnectionRefusedError()]
    gateway.step()
    gateway.reports.limit = -1.0

    gateway.step()

    assert plane.sizes == [1]
    assert len(gateway.reports) == 0


def test_one_report_that_spoils_a_request_harms_no_other_agent(gateway, plane):
    report(gateway, *range(100))
    plane.poison = "agent-57-"

    assert gateway.step() <= 0.5

    assert gateway.renewed_count == 99
    result = gateway.reports.accept("agent-57-", {"consumer_lag": 0}, time.monotonic())
    assert (result["status"], result["detail"]) == (400, "malformed")


def test_after_a_failure_halfway_only_what_was_not_sent_is_sent_again(gateway, plane, program, monkeypatch):
    # The place of a heartbeat in its interval is random: some would be due again at once.
    monkeypatch.setattr("random.random", lambda: 0.9)
    report(gateway, 1, 2, 3, 4)
    sent = []
    answers = [
        program.bulk_client.Refused(413, "too large"),
        None,
        ConnectionResetError(),
        None,
    ]

    def send(entries):
        answer = answers.pop(0)
        if answer:
            raise answer
        sent.extend(json.loads(entry)["agent_id"] for entry in entries)
        return Plane(program).send(entries)

    plane.send = send
    assert gateway.step() > 0
    assert gateway.step() <= 0.5

    assert sorted(sent) == ["agent-1-", "agent-2-", "agent-3-", "agent-4-"]


def test_a_refused_agent_is_tried_again_after_an_interval_and_reported_in_the_log(gateway, plane, caplog):
    report(gateway, 1)
    plane.send = lambda entries: [{"status": 404, "code": "unknown_agent", "heartbeat": None}]

    assert gateway.step() <= 0.5

    assert "1 heartbeats were refused (unknown_agent), the first that of agent agent-1-" in caplog.text
    later = time.monotonic() + gateway.interval
    gateway.reports.limit = 1000.0
    assert len(gateway.reports.take_due(later, until=later)) == 1


def test_the_token_is_read_anew_from_its_file(program, tmp_path, monkeypatch):
    file = tmp_path / "token"
    monkeypatch.setenv("GATEWAY_TOKEN_FILE", str(file))

    for token in ("first", "second"):
        file.write_text(f"{token}\n")
        assert program.gateway.read_token() == token
