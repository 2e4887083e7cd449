"""The demo's agents go on, whatever becomes of one of them; some are late, flapping or odd."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from controlplane.demo.calls import Refused
from controlplane.demo.fleet import Fleet
from controlplane.demo.roster import BEATING, FLAPPING, LATE, LOST, SILENT, SKEWED, registrations

HEARTBEAT_ANSWER = {"heartbeat_interval": 30, "next_heartbeat_in_seconds": 28.0}
LEASE = 90


class Plane:
    """Has these agents, and refuses heartbeats of the first with this status."""

    def __init__(self, *names: str, status: int = 0) -> None:
        self.names, self.status, self.now = names, status, 0.0
        self.heartbeats: list[tuple[str, float, Any]] = []

    def __call__(self, method: str, path: str, body: Any) -> Any:
        if method == "GET":
            return {"items": [{"agent_id": name, "name": name} for name in self.names]}
        agent = path.split("/")[1]
        self.heartbeats.append((agent, self.now, body))
        if agent == self.names[0] and self.status:
            raise Refused(self.status, {"detail": "refused"})
        return HEARTBEAT_ANSWER

    def play(self, seconds: int) -> Counter[str]:
        """Let time pass, and return the number of heartbeats by agent."""
        fleet = Fleet(self)
        for second in range(seconds):
            self.now = float(second)
            fleet.step(self.now)
        return Counter(agent for agent, _, _ in self.heartbeats)

    def gaps(self, agent: str) -> list[float]:
        times = [at for name, at, _ in self.heartbeats if name == agent]
        return [after - before for before, after in pairwise(times)]


@pytest.mark.parametrize("status", [403, 404, 409, 410])
def test_an_agent_that_is_refused_is_left_alone_and_the_others_beat(status):
    assert Plane("prod-eu-1", "prod-eu-2", status=status).play(100) == {"prod-eu-1": 1, "prod-eu-2": 4}


def test_a_token_that_has_ended_is_not_taken_for_an_agents_trouble():
    with pytest.raises(Refused):
        Plane("prod-eu-1", status=401).play(1)


def test_agents_of_users_and_silent_ones_are_never_touched():
    assert set(Plane("mine", SILENT, LOST, "prod-eu-1").play(50)) == {"prod-eu-1"}


def test_an_agent_that_registers_later_is_found():
    plane = Plane("prod-eu-1")
    fleet = Fleet(plane)
    fleet.step(0)
    plane.names = ("prod-eu-1", "gpu-1")
    fleet.step(30)

    assert "gpu-1" in {agent for agent, _, _ in plane.heartbeats}


def test_a_late_agent_is_never_silent_and_a_flapping_one_soon_is_and_returns():
    plane = Plane(LATE, FLAPPING)
    plane.play(1000)

    assert all(45 < gap < LEASE for gap in plane.gaps(LATE))
    silences = [gap > LEASE for gap in plane.gaps(FLAPPING)]
    assert silences[:3] == [True, False, True]
    # A damped return needs a lease without a gap.
    assert silences[3:7] == [False] * 4


def test_a_skewed_clock_is_reported():
    plane = Plane("prod-eu-1", SKEWED)
    plane.play(1)

    right, wrong = (body["timestamp"] for _, _, body in plane.heartbeats)
    assert wrong < right


def test_sixty_agents_in_six_environments_each_with_a_name_of_its_own():
    bodies = registrations()
    names = [body["name"] for body in bodies]

    assert len(names) == len(set(names)) == 54
    assert len({body["environment"] for body in bodies}) == 6
    assert len(BEATING) == 58
