"""The inbox of alerts, as people meet it; an alert that is acknowledged without a mouse."""

from __future__ import annotations

from django.db.models.functions import Now
from playwright.sync_api import Page, expect

from controlplane.access.models import Principal
from controlplane.delivery.models import Sink, SinkProgress
from controlplane.notifications.models import Alert, NotificationRule


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
    page.get_by_role("link", name="agent unavailable: eu-1").press("Enter")
    page.get_by_role("link", name="Acknowledge alert").press("Enter")
    page.get_by_role("button", name="Acknowledge alert").press("Enter")
    expect(page.get_by_text("Acknowledged the alert.")).to_be_visible()
    alert.refresh_from_db()
    assert alert.state == "acknowledged"
