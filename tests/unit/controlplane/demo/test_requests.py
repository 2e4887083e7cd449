"""The demo's agents fetch often enough to get requests, and at once when a request waits for them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from controlplane.demo.calls import Refused
from controlplane.demo.requests import Requests
from controlplane.demo.roster import CONGESTED, LOST
from registry.dispatch.channels import FETCHES_FOR


class Plane:
    """Has these agents. waiting: of which agents requests wait. status: of the first agent's fetches."""

    def __init__(self, *names: str, status: int = 0) -> None:
        self.names, self.status, self.states = names, status, {"retired-one": "retired"}
        self.waiting: list[str] = []
        self.fetches: Counter[str] = Counter()
        self.answers: list[tuple[str, str]] = []

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        if method == "POST":
            self.answers.append((path.split("/")[1], body["type"]))
            return None
        if path.startswith("agents?"):
            states = {name: self.states.get(name, "ready") for name in self.names}
            rows = [{"agent_id": name, "name": name, "health_status": states[name]} for name in self.names]
            return {"items": rows}
        return self._fetched(path.split("/")[1])

    def _fetched(self, agent: str) -> Any:
        self.fetches[agent] += 1
        if self.status and agent == self.names[0]:
            raise Refused(self.status, {})
        if agent not in self.waiting:
            return {"items": []}
        self.waiting.remove(agent)
        data = {"resource_id": "web", "epoch": 1, "service_type": "vm"}
        return {"items": [{"event": {"type": "dcm.request.create", "data": data}}]}

    def read(self, method: str, path: str) -> Any:
        return {"items": [{"object_id": name} for name in [*self.waiting, "somebody"]], "next_after": 7}


def test_each_agent_fetches_before_it_counts_as_absent() -> None:
    plane = Plane("prod-eu-3", "site-1")
    requests = Requests(plane, plane.read)
    seconds = int(FETCHES_FOR.total_seconds())
    requests.step(0.0, wait=0)
    # A step may take as long as its long poll.
    for now in range(1, 10 * seconds, 20):
        requests.step(float(now), wait=0)
    assert all(count > 10 for count in plane.fetches.values())
    assert set(plane.fetches) == {"prod-eu-3", "site-1"}


def test_a_request_is_answered_within_the_step_that_sees_it() -> None:
    plane = Plane("prod-eu-3", "site-1")
    requests = Requests(plane, plane.read)
    requests.step(0.0, wait=0)
    plane.waiting = ["site-1"]
    requests.step(1.0, wait=0)
    assert plane.answers == [
        ("site-1", "dcm.agent.creation-acknowledged"),
        ("site-1", "dcm.status.vm"),
    ]


def test_agents_of_users_and_those_that_get_no_requests_are_left_alone() -> None:
    plane = Plane("mine", LOST, CONGESTED, "retired-one", "prod-eu-3")
    Requests(plane, plane.read).step(0.0, wait=0)
    assert set(plane.fetches) == {"prod-eu-3"}


@pytest.mark.parametrize("status", [403, 404, 409, 410])
def test_an_agent_that_is_refused_does_not_stop_the_others(status: int) -> None:
    plane = Plane("prod-eu-3", "site-1", status=status)
    Requests(plane, plane.read).step(0.0, wait=0)
    assert plane.fetches["site-1"] == 1


def test_a_token_that_has_ended_is_no_trouble_of_an_agent() -> None:
    with pytest.raises(Refused):
        plane = Plane("prod-eu-3", status=401)
        Requests(plane, plane.read).step(0.0, wait=0)
