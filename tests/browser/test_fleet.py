"""Pages about agents and what they are given, as people meet them; changes made without a mouse."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from registry.models import Agent, ServedTaskType

# name of the picture, address
PAGES = {
    "agents": "/agents",
    "agents-none": "/agents?q=nobody",
    "guards": "/fleet-guards",
    "task-types": "/task-types",
    "task-type": "/task-types/spark",
    "audit": "/audit",
}


def test_every_page_about_agents_hinders_nobody(page: Page, look: Callable[[str, str], None]) -> None:
    agent = Agent.objects.get(name="prod-eu-1")
    Agent.objects.filter(name="prod-eu-1").update(labels={"team": "ml", "region": "eu"})
    ServedTaskType.objects.create(agent=agent, name="spark", version="v2")
    pages = {**PAGES, "agent": f"/agents/{agent.id}", "agent-drain": f"/agents/{agent.id}/drain"}
    for name, address in pages.items():
        look(name, address)


def test_an_agent_is_drained_without_a_mouse(page: Page) -> None:
    page.goto("/agents?q=prod-eu-1")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Drain").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What will happen")).to_be_visible()
    page.get_by_label("Why").focus()
    page.keyboard.type("Kernel update.")
    page.keyboard.press("Enter")

    expect(page.locator("#toasts")).to_contain_text("gets no more work")
    expect(page.locator("#agent .notice")).to_contain_text("Kernel update.")
    assert Agent.objects.get(name="prod-eu-1").drain_reason == "Kernel update."
