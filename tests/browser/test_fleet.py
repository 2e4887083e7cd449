"""Pages about agents and what they are given, as people meet them; changes made without a mouse."""

from __future__ import annotations

from django.db import transaction
from playwright.sync_api import Page, expect

from controlplane.database.locks import lock_publishing
from registry import lifecycle
from registry.agent_configs.delivery.data_planes import DataPlaneSpec, put_plane
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfigStatus, DataPlane
from registry.agent_configs.publishing.publish import DocumentSpec, put_document
from registry.agents.models import Agent
from registry.joining.credentials import create_credential, create_principal
from registry.task_types.models import ServedTaskType
from tests.api.registry.agent_configs.test_agent_configs import text
from tests.browser.conftest import Look, LookAround, hindrances
from tests.support.api_client import ACTOR

HAND_OVER = "/agent-configs/conflicts/hand-over?kind=task_type&name=acme_sensor&from_team=acme&to_team=rival"
# name of the picture, address
PAGES = {
    "agents": "/agents",
    "agents-none": "/agents?q=nobody",
    "bulk-changes": "/agent-bulk-changes",
    "environments": "/environments",
    "guards": "/fleet-guards",
    "guard-ruling": "/fleet-guards/overrule?environment=edge&ruling=engage",
    "task-types": "/task-types",
    "task-type": "/task-types/spark",
    "audit": "/audit",
    "events": "/events",
    "tokens": "/tokens",
    "role-bindings": "/role-bindings",
    "join-tokens": "/join-tokens",
}
CONFIG_PAGES = {
    "config-clusters": "/agent-configs/clusters",
    "agent-configs": "/agent-configs",
    "agent-config": "/agent-configs/documents/api/acme/agents",
    "agent-config-conflicts": "/agent-configs/conflicts",
    "agent-config-pin": "/agent-configs/conflicts/pin?kind=task_type&name=acme_sensor&team=acme",
    "agent-config-hand-over": HAND_OVER,
    "agent-config-try": "/agent-configs/try?team=acme&name=agents",
    "data-planes": "/agent-configs/planes",
    "data-plane": "/agent-configs/planes/eu",
    "bundle": "/agent-configs/planes/eu/2?against=1",
    "task-type-published": "/task-types/acme_sensor",
    "agent-config-quarantine": "/agent-configs/leave-out/api/acme/agents",
}


def test_every_page_about_agents_hinders_nobody(page: Page, look: Look) -> None:
    agent = Agent.objects.get(name="prod-eu-1")
    Agent.objects.filter(name="prod-eu-1").update(labels={"team": "ml", "region": "eu"})
    ServedTaskType.objects.create(agent=agent, name="spark", version="v2")
    principal = create_principal(ACTOR, None)
    create_credential(principal, ACTOR)
    Agent.objects.filter(id=agent.id).update(registered_by=principal.id)
    shared = Agent.objects.get(name="prod-eu-2")
    pages = {
        **PAGES,
        "agent": f"/agents/{agent.id}",
        "agent-reachability": f"/agents/{agent.id}/reachability",
        "agent-drain": f"/agents/{agent.id}/drain",
        "agent-tokens-revoke": f"/agents/{agent.id}/revoke-tokens",
        "agent-token-shared": f"/agents/{shared.id}/rotate-token",
    }
    for name, address in pages.items():
        look(name, address)


def publish(*documents: tuple[str, str]) -> None:
    """Each takes effect at once: while beat's reconcile runs, it would be left to the next one."""
    put_plane("eu", DataPlaneSpec(), actor=ACTOR)
    for team, task in documents:
        with transaction.atomic():
            lock_publishing()
            put_document(DocumentSpec(DocumentId("api", team, "agents"), text(team, task)), actor=ACTOR)


def test_every_page_about_configurations_hinders_nobody(page: Page, look: Look) -> None:
    publish(("acme", "acme_sensor"), ("rival", "acme_sensor"))
    put_plane("us", DataPlaneSpec(stage=1), actor=ACTOR)
    for name, address in CONFIG_PAGES.items():
        look(name, address)


def test_a_claim_is_handed_over_without_a_mouse(page: Page) -> None:
    publish(("acme", "acme_sensor"), ("rival", "acme_sensor"))
    page.goto("/agent-configs/conflicts")
    page.get_by_role("link", name="Transfer name acme_sensor to rival").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Effects")).to_be_visible()
    page.get_by_label("Reason").focus()
    page.keyboard.type("They run it now.")
    page.keyboard.press("Enter")

    expect(page.locator("#toasts")).to_contain_text("Transferred acme_sensor to rival")
    (conflict,) = AgentConfigStatus.objects.exclude(conflicts=[]).get().conflicts
    assert conflict["winner"]["team"] == "rival"


def test_an_agent_is_drained_without_a_mouse(page: Page) -> None:
    page.goto("/agents?q=prod-eu-1")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Drain agent").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Effects")).to_be_visible()
    page.get_by_label("Reason").focus()
    page.keyboard.type("Kernel update.")
    page.keyboard.press("Enter")

    expect(page.locator("#toasts")).to_contain_text("Draining prod-eu-1")
    expect(page.locator("#agent .notice")).to_contain_text("Kernel update.")
    assert Agent.objects.get(name="prod-eu-1").drain_reason == "Kernel update."


def test_matching_agents_are_drained_watched_and_undone(page: Page, look_around: LookAround) -> None:
    page.goto("/agents?environment=production-eu")
    page.get_by_role("link", name="Drain agents").click()
    expect(page.get_by_text("2 agents would change")).to_be_visible()
    page.get_by_label("Reason").fill("Kernel update.")
    look_around(page, "bulk-start")
    page.get_by_role("button", name="Drain 2 agents").click()

    expect(page.get_by_text("2 of 2 agents")).to_be_visible()
    expect(page.get_by_role("status").get_by_text("done")).to_be_visible()
    look_around(page, "bulk-change")
    page.get_by_role("link", name="Undo change").click()
    page.get_by_role("button", name="Undo change").click()
    expect(page.get_by_role("status").get_by_text("undone", exact=True)).to_be_visible()
    assert set(Agent.objects.filter(environment="production-eu").values_list("drain_reason", flat=True)) == {
        ""
    }


def test_ticked_rows_stay_ticked_and_are_changed_alone(page: Page, look_around: LookAround) -> None:
    page.goto("/agents")
    expect(page.get_by_text("Ticked agents:")).to_be_hidden()
    tick = page.get_by_label("Tick prod-eu-1")
    tick.check()
    expect(page.get_by_text("All agents:")).to_be_hidden()
    page.get_by_label("Details of prod-eu-1").click()
    expect(page.get_by_role("heading", name="prod-eu-1")).to_be_visible()
    expect(tick).to_be_checked()
    look_around(page, "agents-ticked")
    page.get_by_role("button", name="Drain ticked").click()
    expect(page.get_by_text("Selected: 1 ticked agent.")).to_be_visible()


def test_rows_that_are_seen_follow_what_happens(page: Page) -> None:
    page.goto("/agents?q=prod-eu")
    expect(page.locator("[data-live-badge]")).to_have_text("live")
    agent = Agent.objects.get(name="prod-eu-2")

    lifecycle.drain(agent.id, reason="Kernel update.", until=None, actor=ACTOR)

    expect(page.locator("#rows")).to_contain_text("Kernel update.")


def test_what_answers_a_form_hinders_nobody_either(page: Page) -> None:
    publish(("acme", "acme_sensor"))
    page.goto("/agent-configs/try?team=acme&name=agents")
    page.get_by_label("Document").fill(text("acme", "bad name"))
    page.get_by_role("button", name="Check document").click()
    expect(page.get_by_text("Document is not valid")).to_be_visible()
    assert hindrances(page) == []

    DataPlane.objects.update(held={"digest": "d1", "reasons": [], "changes": ["everything goes"]})
    page.goto("/agent-configs/planes/eu/approve")
    assert hindrances(page) == []

    page.goto("/tokens")
    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Create token").click()
    expect(page.locator(".secret")).to_contain_text("cp_pat_")
    assert hindrances(page) == []
