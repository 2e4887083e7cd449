"""Counts of agents by task type: all, and the live ones, whichever of both kinds is larger."""

from __future__ import annotations

import random

import pytest

from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Role
from registry.agents.models import Agent
from registry.agents.states import LIVE, State
from registry.task_types.models import ServedTaskType
from registry.task_types.served import count_by_name

ADMIN = Caller(None, "admin", "user", (Grant(Role.ADMIN),))
NAMES = ["spark", "ray", "none"]


@pytest.mark.django_db
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_agents_are_counted_as_by_a_loop(share: float) -> None:
    dice = random.Random(share)
    dead = [state for state in State if state not in LIVE]
    expected: dict[str, dict[str, set[str]]] = {
        name: {"versions": set(), "agents": set(), "live_agents": set()} for name in NAMES
    }
    for number in range(60):
        state = dice.choice([*LIVE] if dice.random() < share else dead)
        name = f"a{number}"
        agent = Agent.objects.create(
            name=name, environment="prod", topic_name=name, cost="low", state=state.value, state_reason=""
        )
        for task_type, version in (("spark", dice.choice(["v1", "v2"])), ("ray", ""), ("spark", "v3")):
            ServedTaskType.objects.create(agent=agent, name=task_type, version=version)
            expected[task_type]["versions"].add(version)
            expected[task_type]["agents"].add(name)
            if state in LIVE:
                expected[task_type]["live_agents"].add(name)

    counted = count_by_name(NAMES, ADMIN)

    for name, row in expected.items():
        assert counted[name] == {
            "name": name,
            "versions": sorted(row["versions"]),
            "agents": len(row["agents"]),
            "live_agents": len(row["live_agents"]),
        }
