"""An agent that returns too often: an event for each wait, an alert that ends, and a finding."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from console.dashboard.odd_agents import finding
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.notifications.opposites import types_ending
from registry.agents.models import Agent, Lease
from tests.support.api_client import AGENT, Api, logged_in
from tests.support.two_teams import browser_of, make_two_teams

pytestmark = pytest.mark.django_db
BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}


@pytest.fixture
def agent(api: Api) -> Agent:
    return Agent.objects.get(id=api.post("agents", AGENT).json()["agent_id"])


def fall_silent(agent: Agent, penalty: float) -> None:
    Agent.objects.filter(id=agent.id).update(
        state="unavailable", flap_penalty=penalty, flapped_at=Now(), steady_since=None
    )
    Lease.objects.filter(agent=agent).update(
        renewed_at=Now() - timedelta(minutes=5), expires_at=Now() - timedelta(minutes=3)
    )


def events() -> list[dict[str, Any]]:
    return list(Event.objects.filter(type="agent.flapping").values_list("data", flat=True))


def test_a_wait_is_announced_once(api: Api, agent: Agent) -> None:
    fall_silent(agent, penalty=2.0)

    for _ in range(3):
        assert api.put(f"agents/{agent.id}/heartbeat", BEAT).status_code == 200

    (event,) = events()
    assert (event["name"], "Returned too often" in event["reason"]) == (agent.name, True)
    assert Agent.objects.get(id=agent.id).state == "unavailable"
    # Silent again during the wait, and back: another wait.
    fall_silent(agent, penalty=3.0)
    api.put(f"agents/{agent.id}/heartbeat", BEAT)
    assert len(events()) == 2


def test_a_first_return_is_no_flapping(api: Api, agent: Agent) -> None:
    fall_silent(agent, penalty=0.0)

    api.put(f"agents/{agent.id}/heartbeat", BEAT)

    assert (events(), Agent.objects.get(id=agent.id).state) == ([], "ready")


def test_its_alert_ends_when_the_agent_is_ready() -> None:
    assert "agent.ready" in types_ending("agent.flapping")


def test_the_dashboard_names_agents_that_flap_and_that_run_twice(api: Api, agent: Agent) -> None:
    browser = logged_in("jane", Role.ADMIN)
    assert "No agent flaps or runs twice." in browser.get("/").content.decode()

    Agent.objects.filter(id=agent.id).update(flap_penalty=2.0, flapped_at=Now())
    Lease.objects.filter(agent=agent).update(rival_announced=True, rival_since=Now())
    page = browser.get("/").content.decode()

    assert f"{agent.name} flaps" in page
    assert f"{agent.name} runs twice" in page
    assert f'href="/agents/{agent.id}"' in page
    Agent.objects.filter(id=agent.id).update(flapped_at=Now() - timedelta(hours=3))
    Lease.objects.filter(agent=agent).update(rival_since=Now() - timedelta(hours=3))
    assert "No agent flaps or runs twice." in browser.get("/").content.decode()


def test_a_team_learns_of_its_own_agents_alone(api: Api) -> None:
    teams = make_two_teams(api)
    Agent.objects.filter(id=teams.other_agent.id).update(flap_penalty=2.0, flapped_at=Now())

    assert teams.other_agent.name not in browser_of(teams.ours, Role.OPERATOR).get("/").content.decode()


def test_many_are_counted_and_the_first_named() -> None:
    agents = [Agent(name=f"a{number}") for number in range(5)]

    found = finding("flaps", "flap", "", agents)

    assert found is not None
    assert (found.summary, [step.label for step in found.steps]) == ("5 agents flap", ["a0", "a1", "a2"])
    assert finding("flaps", "flap", "", []) is None
