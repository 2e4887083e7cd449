"""Rules and channels made by the forms of the console."""

from __future__ import annotations

import re
from typing import Any

from django.test import Client

from controlplane.delivery.models import Sink
from controlplane.notifications.models import NotificationRule

RULE = {
    "name": "production agents",
    "types": "agent.unavailable",
    "mode": "digest",
    "digest_seconds": "120",
    "severity": "critical",
    "max_per_hour": "30",
    "is_active": "on",
    "retract": "on",
}
EMAIL = {"name": "on call", "to": "a@example.com, b@example.com", "cc": "", "save": "1"}
SLACK = {"name": "chat", "bot_token": "xoxb-zqsecret", "signing_secret": "zqsigning", "save": "1"}


def text_of(answer: Any) -> str:
    return str(answer.content.decode())


def error_beside(text: str, name: str) -> str:
    """Return the error that a page shows beside a field; empty if there is none."""
    found = re.search(rf'id="error-{name}">(.*?)</p>', text, re.DOTALL)
    return found[1] if found else ""


def create_channel(browser: Client, kind: str = "email", **fields: str) -> Sink:
    form = {"email": EMAIL, "slack": {**SLACK, "conversation": "#on-call"}}.get(kind, {"save": "1"})
    answer = browser.post(f"/notification-channels:new?kind={kind}", {**form, **fields})
    assert answer.status_code in (200, 302), text_of(answer)
    return Sink.objects.latest("created_at")


def create_rule(browser: Client, **fields: Any) -> NotificationRule:
    answer = browser.post("/notification-rules:new", {**RULE, **fields, "save": "1"})
    assert answer.status_code == 302, text_of(answer)
    return NotificationRule.objects.latest("created_at")


def fields_of(page: str) -> dict[str, list[str]]:
    """Return what a browser would send of the form in the page."""
    form = re.search(r'<form method="post">(.*?)</form>', page, re.DOTALL)
    assert form is not None
    fields: dict[str, list[str]] = {}
    for tag in re.findall(r"<input[^>]*>", form[1]):
        attributes = dict(re.findall(r' (\w+)="([^"]*)"', tag))
        if attributes.get("type") != "checkbox" or " checked" in tag:
            fields.setdefault(attributes["name"], []).append(attributes.get("value", "on"))
    for name, text in re.findall(r'<textarea name="(\w+)"[^>]*>\n(.*?)</textarea>', form[1], re.DOTALL):
        fields[name] = [text]
    for name, options in re.findall(r'<select name="(\w+)"[^>]*>(.*?)</select>', form[1], re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options)
        fields.setdefault(name, []).append(chosen[1] if chosen else "")
    return fields
