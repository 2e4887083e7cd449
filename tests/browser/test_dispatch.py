"""Pages about resources, as people meet them; a resource that is requested and deleted without a mouse."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from playwright.sync_api import Page, expect

from controlplane.messaging.dead_letters import Undelivered, store
from controlplane.messaging.envelope import Envelope
from controlplane.messaging.models import DeadLetter
from registry.agents.models import Agent, Lease
from registry.dispatch.inbound.receiving import Sender, receive_message
from registry.dispatch.models import ResourceRow
from registry.dispatch.resources.requests import ResourceRequest, create_resource
from tests.browser.conftest import Look, hindrances
from tests.support.api_client import ACTOR

SPEC = {"image": "nginx:1.29", "cpu": 2, "env": {"LOG_LEVEL": "debug"}}


def answer(resource: ResourceRow, kind: str, **data: object) -> None:
    body = {"resource_id": resource.id, "agent_name": resource.agent_name, **data}
    event = Envelope(f"{kind}-{resource.id}", "dcm/agents/x", f"dcm.agent.{kind}", body)
    receive_message(event, Sender())


def keep_agents_alive() -> None:
    """The running system expects a heartbeat every second, and nobody sends any for the demo's agents."""
    later = Now() + timedelta(hours=1)
    Lease.objects.update(renewed_at=later, expires_at=later)
    Agent.objects.filter(name__startswith="prod").update(state="ready")


def make_resources() -> DeadLetter:
    """One that runs, one that failed, one without an agent, and a message that nobody could handle."""
    keep_agents_alive()
    running = create_resource(
        ResourceRequest("shop-web", "cluster", SPEC, labels={"app": "shop", "tier": "gold"}), actor=ACTOR
    )
    answer(running, "creation-acknowledged")
    status = {"id": "shop-web", "status": "ACTIVE", "message": "3 nodes.", "output_spec": {"ip": "10.0.0.7"}}
    receive_message(Envelope("s1", "dcm/providers/p", "dcm.status.cluster", status), Sender())
    failed = create_resource(ResourceRequest("shop-db", "cluster", SPEC), actor=ACTOR)
    answer(failed, "error", error="NON_RETRYABLE_SP_ERROR", details="The quota is used up.")
    create_resource(ResourceRequest("shop-gpu", "gpu", {}), actor=ACTOR)
    letter = Undelivered(
        "dcm-agent-responses",
        "control-plane-response-consumer",
        4711,
        "dcm.agents.responses",
        b'{"specversion": "1.0", "id": "e1", "type": "dcm.agent.creation-acknowledged"}',
        "There is no resource 'web-1'.",
        {"Nats-Msg-Id": "e1", "Nats-Time-Stamp": "2026-11-21T09:30:00+00:00"},
        3,
    )
    with transaction.atomic():
        stored = store(letter)
    assert stored is not None
    return stored


def test_every_page_about_resources_hinders_nobody(page: Page, look: Look) -> None:
    letter = make_resources()
    pages = {
        "resources": "/resources",
        "resource": "/resources/shop-web",
        "resource-failed": "/resources/shop-db",
        "resource-placement": "/resources/shop-db/placement",
        "resource-delete": "/resources/shop-web/delete",
        "resource-new": "/resources:new",
        "dead-letters": "/dead-letters",
        "dead-letter": f"/dead-letters/{letter.id}",
    }
    for name, address in pages.items():
        look(name, address)


def test_a_resource_is_requested_and_deleted_without_a_mouse(page: Page) -> None:
    keep_agents_alive()
    page.goto("/resources:new")
    page.get_by_label("Service type").fill("cluster")
    page.get_by_label("Id", exact=True).fill("cache")
    page.get_by_label("Spec").fill("nodes: 3")
    page.get_by_role("button", name="Preview placement").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Preview: nothing is sent yet")).to_be_visible()
    assert hindrances(page) == []
    page.get_by_role("button", name="Send request").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Requested cache.")
    assert ResourceRow.objects.get().spec == {"nodes": 3}

    expect(page.locator("[data-live-badge]")).to_have_text("live")
    answer(ResourceRow.objects.get(), "creation-acknowledged")
    expect(page.locator("#resource .headline")).to_contain_text("provisioning")

    page.get_by_role("link", name="Delete resource").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Reason").fill("Not needed.")
    page.keyboard.press("Enter")
    expect(page.locator("#resource .headline")).to_contain_text("deleting")
