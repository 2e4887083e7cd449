"""One day with the console: a team brings its settings and changes one of them, an agent falls silent."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from overrides.models import Override
from registry.agents.models import Agent
from registry.environments.models import Environment
from tests.conftest import System
from tests.support.api_client import AGENT, token_for
from tests.support.beating_agent import BeatingAgent

SHOP = "project=shop&domain=production"
FILE = """project: shop
domain: production
limits:
  cpu: "2"
  memory: 2Gi
"""


class Client:
    """A program that uses the running system's API, beside the person at the browser."""

    def __init__(self, page: Page) -> None:
        self._page, self._token = page, token_for("admin")

    def __call__(self, method: str, path: str, body: Any) -> Any:
        headers = {"Authorization": f"Bearer {self._token}"}
        answer = self._page.request.fetch(f"/api/v1/{path}", method=method, headers=headers, data=body)
        assert answer.ok, answer.text()
        return answer.json()


def cpu_at(page: Page) -> Any:
    """What applies, on the page that is open."""
    return page.locator("#task_resource tr", has_text="limits › cpu").locator("td.value")


def test_a_team_moves_in_changes_its_mind_and_sees_its_agent_return(page: Page, live: System) -> None:
    client = Client(page)
    _bring_files(client)
    _review_edit_and_go_back(page)
    _fall_silent_and_return(page, client, live.url)


def _bring_files(client: Client) -> None:
    files = {"flytectl_files": {"tra.yaml": FILE}, "manager": "team-shop", "create_projects": True}
    plan = client("POST", "overrides:import?dry_run=true", files)
    assert plan["plan"]["summary"]["created"] == 1
    assert not Override.objects.filter(project="shop").exists()
    client("POST", "overrides:import", files)


def _review_edit_and_go_back(page: Page) -> None:
    page.goto(f"/overrides?{SHOP}")
    # It applies, and what it replaces is named beside it.
    expect(cpu_at(page)).to_have_text("2")
    page.locator("#task_resource").get_by_role("link", name="Edit override").click()
    page.locator("#yaml").fill("limits: {cpu: '6', memory: 2Gi}")
    page.get_by_label("Take over").check()
    page.get_by_role("button", name="Preview changes").click()
    expect(page.locator("#plan ins").first).to_have_text("6")
    page.get_by_role("button", name="Save override").click()
    expect(page.locator("#toasts")).to_contain_text("Saved as version 2")
    page.goto(f"/overrides?{SHOP}")
    expect(cpu_at(page)).to_have_text("6")

    page.locator("#task_resource").get_by_role("link", name="Show history").click()
    page.get_by_role("button", name="Preview rollback to version 1").click()
    page.get_by_role("button", name="Roll back override").click()
    page.goto(f"/overrides?{SHOP}")
    expect(cpu_at(page)).to_have_text("2")
    assert Override.objects.get(project="shop").version == 3


def _fall_silent_and_return(page: Page, client: Client, url: str) -> None:
    # The demo's agents never beat: so many silent ones would be doubted by the fleet guard.
    Agent.objects.all().delete()
    Environment.objects.all().delete()
    agent = client("POST", "agents", AGENT)["agent_id"]
    page.goto("/agents")
    row = page.locator("#rows tr", has_text="a1")
    beat = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
    client("PUT", f"agents/{agent}/heartbeat", beat)
    # Before it is unavailable, an agent is also "late": a second mark in its row.
    expect(row.locator(".state").first).to_have_text("ready")
    with BeatingAgent(url, token_for("agent")):
        expect(row.locator(".state").first).to_have_text("unavailable", timeout=30_000)
    client("PUT", f"agents/{agent}/heartbeat", beat)
    expect(row.locator(".state").first).to_have_text("ready")

    row.get_by_role("link", name="a1", exact=True).click()
    page.wait_for_url(re.compile(agent))
    expect(page.locator("#agent")).to_contain_text("unavailable")
