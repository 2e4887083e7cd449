"""A pattern of one team holds nobody up: a real server answers the attacker and everybody else."""

from __future__ import annotations

from tests.support.api_client import AGENT, make_project, token_for
from tests.support.hostile_patterns import Caller, play, working


def test_catastrophic_patterns_hold_nobody_up(live):
    make_project()
    attacker, neighbour = (Caller(live.port, token_for("admin")) for _ in range(2))
    status, agent = neighbour("POST", "/api/v1/agents", AGENT)
    assert status == 201
    beat = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
    calls = [
        ("GET", "/livez", None),
        ("GET", "/api/v1/overrides/effective?project=flytesnacks&domain=production", None),
        ("PUT", f"/api/v1/agents/{agent['agent_id']}/heartbeat", beat),
    ]

    with working(neighbour, calls):
        play(attacker)

    assert len(neighbour.answers) > len(calls)
    assert {status for status, _, _ in neighbour.answers[1:]} == {200}
