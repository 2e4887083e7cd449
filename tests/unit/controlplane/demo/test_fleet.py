"""The demo's agents go on, whatever becomes of one of them."""

from __future__ import annotations

import urllib.error
from email.message import Message
from typing import Any

import pytest

from controlplane.demo.fleet import Fleet

HEARTBEAT_ANSWER = {"heartbeat_interval": 30, "next_heartbeat_in_seconds": 10.0}


def refusal(code: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("http://here", code, "refused", Message(), None)


class Plane:
    """Has three agents, and refuses the first one's heartbeats."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.beaten: list[str] = []

    def __call__(self, method: str, path: str, body: Any) -> Any:
        if method == "GET":
            return {"items": [{"agent_id": name, "name": name} for name in ("a", "b", "edge-silent")]}
        agent = path.split("/")[4]
        self.beaten.append(agent)
        if agent == "a":
            raise refusal(self.code)
        return HEARTBEAT_ANSWER


@pytest.mark.parametrize("code", [403, 404, 410])
def test_an_agent_that_is_not_the_demos_is_left_alone_and_the_others_beat(code):
    plane = Plane(code)
    fleet = Fleet(plane)

    for now in (0, 5, 10):
        fleet.step(now)

    assert plane.beaten == ["a", "b", "b"]


def test_a_token_that_has_ended_is_not_taken_for_an_agents_trouble():
    with pytest.raises(urllib.error.HTTPError):
        Fleet(Plane(401)).step(0)
