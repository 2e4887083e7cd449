"""Agents by version, through HTTP and in the console."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.identity.roles import Role
from registry.agents.models import Agent, AgentReport
from tests.support.api_client import AGENT, Api, logged_in
from tests.support.two_teams import browser_of, make_two_teams

pytestmark = pytest.mark.django_db


def register(api: Api, name: str, environment: str, **versions: str) -> None:
    body = {**AGENT, "name": name, "environment": environment, "topic_name": f"dcm.agent.{name}"}
    agent = Agent.objects.get(id=api.post("agents", body).json()["agent_id"])
    AgentReport.objects.update_or_create(agent=agent, defaults={"versions": versions})


def counted(answer: Any) -> list[tuple[str, str, int, int]]:
    return [
        (row["component"], row["version"], row["agents"], row["behind"]) for row in answer.json()["items"]
    ]


def test_versions_are_counted_in_all_environments_or_one(api: Api) -> None:
    register(api, "a1", "prod", agent="1.9.0", sdk="2.0")
    register(api, "a2", "prod", agent="1.10.0")
    register(api, "a3", "dev", agent="1.10.0")
    register(api, "old", "dev", agent="0.1")
    Agent.objects.filter(name="old").update(state="retired")

    assert counted(api.get("agents:versions")) == [
        ("agent", "1.10.0", 2, 0),
        ("agent", "1.9.0", 1, 1),
        ("sdk", "2.0", 1, 0),
    ]
    assert counted(api.get("agents:versions?environment=dev")) == [("agent", "1.10.0", 1, 0)]
    assert api.get("agents:versions?environment=nowhere").json()["items"] == []
    assert api.get("agents:versions?env=dev").status_code == 400
    page = logged_in("jane", Role.ADMIN).get("/environments").content.decode()
    assert "1 behind" in page
    assert "67 %" in page


def test_a_team_counts_its_own_agents_alone(api: Api) -> None:
    teams = make_two_teams(api)
    for agent in (teams.our_agent, teams.other_agent):
        AgentReport.objects.update_or_create(agent_id=agent.id, defaults={"versions": {"agent": agent.name}})

    page = browser_of(teams.ours, Role.OPERATOR).get("/environments").content.decode()

    assert f'class="value">{teams.our_agent.name}<' in page
    assert teams.other_agent.name not in page
