"""Alerts, rules and channels without a mouse: acknowledge an alert, make a channel and a rule."""

from __future__ import annotations

from django.db.models.functions import Now
from playwright.sync_api import Page, expect

from controlplane.access.models import Principal
from controlplane.delivery.models import Sink, SinkProgress
from controlplane.notifications.models import Alert, NotificationRule
from tests.browser.conftest import LookAround


def make_alert() -> Alert:
    creator = Principal.objects.order_by("created_at")[0]
    channel = Sink.objects.create(
        name="on call", kind="email", config={"to": ["a@example.com"]}, created_by=creator, cursor_seq=0
    )
    SinkProgress.objects.create(sink=channel)
    # Switched off: the engine of the running system must leave the alert as it is.
    rule = NotificationRule.objects.create(name="agents", created_by=creator, is_active=False)
    return Alert.objects.create(
        rule=rule,
        key_hash="x",
        severity="critical",
        event_type="agent.unavailable",
        event_seq=1,
        object_type="agent",
        object_id="eu-1",
        title="agent unavailable: eu-1",
        text="An agent's lease expired without a heartbeat.",
        first_at=Now(),
        last_at=Now(),
    )


def test_an_alert_is_acknowledged_without_a_mouse(page: Page) -> None:
    alert = make_alert()
    page.goto("/alerts")
    page.get_by_role("link", name="agent unavailable: eu-1", exact=True).press("Enter")
    page.get_by_role("link", name="Acknowledge alert").press("Enter")
    page.get_by_role("button", name="Acknowledge alert").press("Enter")
    expect(page.get_by_text("Acknowledged the alert.")).to_be_visible()
    alert.refresh_from_db()
    assert alert.state == "acknowledged"


def test_a_channel_and_a_rule_are_made_without_a_mouse(page: Page, look_around: LookAround) -> None:
    page.goto("/notification-channels")
    page.get_by_role("link", name="Create channel").press("Enter")
    page.get_by_role("link", name="slack").press("Enter")
    page.get_by_label("Name").fill("chat")
    page.get_by_label("Bot token").fill("xoxb-1")
    page.get_by_role("button", name="Create channel").press("Enter")
    expect(page.get_by_text("name a conversation")).to_be_visible()
    look_around(page, "notification-channel-error")
    page.get_by_label("Conversation").fill("#on-call")
    page.get_by_label("Bot token").fill("xoxb-1")
    page.get_by_role("button", name="Create channel").press("Enter")
    expect(page.get_by_role("button", name="Send test message")).to_be_visible()

    page.goto("/notification-rules")
    page.get_by_role("link", name="Create rule").press("Enter")
    page.get_by_label("Name").fill("registrations")
    page.get_by_label("Event types").fill("agent.registered")
    page.get_by_label("Expression").fill("type =")
    page.get_by_label("Channel 1").select_option(label="chat (slack)")
    page.get_by_role("button", name="Preview rule").press("Enter")
    expect(page.get_by_text("At character 7")).to_be_visible()
    look_around(page, "notification-rule-error")
    page.get_by_label("Expression").fill("")
    page.get_by_role("button", name="Preview rule").press("Enter")
    expect(page.get_by_role("heading", name="Preview: nothing is saved yet")).to_be_in_viewport()
    look_around(page, "notification-rule-preview")
    assert not NotificationRule.objects.filter(name="registrations").exists()
    page.get_by_role("button", name="Create rule").press("Enter")
    expect(page.get_by_text("Created registrations.")).to_be_visible()
    look_around(page, "notification-rule-made")
    assert NotificationRule.objects.get(name="registrations").when == {"types": ["agent.registered"]}
