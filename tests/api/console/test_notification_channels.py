"""Pages of notification channels: create by kind, credentials, test, rotate, resume."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from standardwebhooks.webhooks import Webhook

from controlplane.access.teams.teams import create_team
from controlplane.delivery import kinds
from controlplane.delivery.kinds import SinkKind
from controlplane.delivery.models import Sink
from controlplane.delivery.sink_secrets import secrets_of
from controlplane.identity.roles import Role
from controlplane.notifications.channels import registry
from tests.support.api_client import ACTOR, logged_in
from tests.support.notification_forms import (
    EMAIL,
    SLACK,
    create_channel,
    create_rule,
    error_beside,
    fields_of,
    text_of,
)
from tests.support.two_teams import browser_of
from tests.support.webhook_receiver import Receiver, running_receiver

ROUTING_KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ["203.0.113.0/24", "127.0.0.0/8"]
    settings.WEBHOOK_ALLOW_HTTP = True


@pytest.fixture
def browser(db: None) -> Client:
    return logged_in("jane", Role.ADMIN)


@pytest.fixture
def receiver() -> Any:
    with running_receiver() as receiver:
        yield receiver


def test_credentials_are_sealed_kept_replaced_and_never_in_a_page(browser):
    channel = create_channel(browser, "slack")
    page = f"/notification-channels/{channel.id}"
    for path in (page, f"{page}/edit", "/notification-channels", "/audit", "/events"):
        assert [word for word in ("zqsecret", "zqsigning") if word in text_of(browser.get(path))] == [], path
    kept = {"name": "moved", "conversation": "#other", "version": "1", "save": "1"}
    assert browser.post(f"{page}/edit", kept)["Location"] == page
    channel.refresh_from_db()
    assert (channel.name, channel.config) == ("moved", {"conversation": "#other"})
    assert secrets_of(channel).credentials["bot_token"] == "xoxb-zqsecret"
    replaced = {**kept, "version": "2", "bot_token": "xoxb-zqnew"}
    assert browser.post(f"{page}/edit", replaced)["Location"] == page
    channel.refresh_from_db()
    assert secrets_of(channel).credentials == {"bot_token": "xoxb-zqnew"}

    wrong = browser.post(
        f"{page}/edit", {**replaced, "version": "3", "webhook_url": "https://10.0.0.1/zqurl"}
    )
    assert wrong.status_code == 400
    assert [word for word in ("zqnew", "zqurl") if word in text_of(wrong)] == []
    assert 'value="#other"' in text_of(wrong)


@pytest.mark.parametrize(
    ("kind", "fields", "beside"),
    [
        ("email", {**EMAIL, "to": "nobody"}, "to"),
        ("slack", {**SLACK, "conversation": ""}, "conversation"),
        ("pagerduty", {"name": "p", "routing_key": "zqshort", "save": "1"}, "routing_key"),
        ("webhook", {"name": "w", "url": "https://10.0.0.1/", "save": "1"}, "url"),
    ],
)
def test_a_wrong_channel_has_its_error_beside_the_field(browser, kind, fields, beside):
    answer = browser.post(f"/notification-channels:new?kind={kind}", fields)
    assert answer.status_code == 400
    assert error_beside(text_of(answer), beside)
    assert f'value="{fields["name"]}"' in text_of(answer)
    assert "zqshort" not in text_of(answer)
    assert not Sink.objects.exists()


def test_a_pagerduty_channel_is_created_and_shown_without_its_key(browser):
    channel = create_channel(browser, "pagerduty", name="pager", routing_key=ROUTING_KEY)
    page = text_of(browser.get(f"/notification-channels/{channel.id}"))
    assert "pagerduty" in page
    assert ROUTING_KEY not in page
    assert "rotate-secret" not in page


def test_a_webhook_shows_its_secret_once_is_tested_and_its_secret_rotated(browser, receiver: Receiver):
    answer = browser.post(
        "/notification-channels:new?kind=webhook", {"name": "hook", "url": receiver.url, "save": "1"}
    )
    channel, secret = Sink.objects.get(), secret_in(answer)
    page = f"/notification-channels/{channel.id}"
    assert answer["Cache-Control"] == "no-store"
    assert f'action="{page}/test"' in text_of(answer)
    assert secret not in text_of(browser.get(page))
    assert browser.get(f"{page}/test").status_code == 200
    assert receiver.received == []
    assert "delivered" in text_of(browser.post(f"{page}/test"))
    Webhook(secret).verify(receiver.received[0].body, receiver.received[0].headers)

    assert browser.post(f"{page}/rotate-secret", {"overlap_hours": "many"}).status_code == 400
    new = secret_in(browser.post(f"{page}/rotate-secret", {"overlap_hours": "0"}))
    browser.post(f"{page}/test")
    Webhook(new).verify(receiver.received[1].body, receiver.received[1].headers)


def secret_in(answer: Any) -> str:
    return re.search(r'<code class="secret">(whsec_[^<]+)</code>', text_of(answer))[1]


def test_a_channel_that_was_switched_off_is_resumed(browser):
    channel = create_channel(browser)
    page = f"/notification-channels/{channel.id}"
    assert f"{page}/resume" not in text_of(browser.get(page))
    Sink.objects.update(state="disabled", reason="failing")
    assert f"{page}/resume" in text_of(browser.get(page))
    assert browser.post(f"{page}/resume", {"reason": ""})["Location"] == page
    channel.refresh_from_db()
    assert channel.state == "active"


def test_a_kind_without_a_form_of_its_own_is_shown_with_its_configuration(browser, monkeypatch):
    monkeypatch.setattr(kinds, "_kinds", dict(kinds._kinds))
    monkeypatch.setattr(registry, "_channels", dict(registry._channels))
    sink_kind = SinkKind("pigeon", lambda config, credentials: None, lambda config, secrets: None)
    registry.register_channel(registry.Channel("pigeon", sink_kind))
    channel = create_channel(browser)
    Sink.objects.update(kind="pigeon", config={"loft": "north"})
    page = f"/notification-channels/{channel.id}"
    assert "loft: north" in text_of(browser.get(page))
    assert "loft: north" in text_of(browser.get(f"{page}/edit"))
    form = {"name": "x", "settings": "{}", "secrets": "key: [zqsecret", "version": "1", "save": "1"}
    refused = browser.post(f"{page}/edit", form)
    assert (refused.status_code, "zqsecret" in text_of(refused)) == (400, False)
    assert "neither YAML nor JSON" in error_beside(text_of(refused), "secrets")


def test_the_form_keeps_a_channel_that_its_reader_may_not_see_without_naming_it(browser):
    ours = create_team("ours", actor=ACTOR)
    channel = create_channel(browser, name="zqplatform")
    rule = create_rule(browser, team="ours", to=[str(channel.id)])
    operator, page = browser_of(ours, Role.OPERATOR), f"/notification-rules/{rule.id}"
    shown, form = text_of(operator.get(page)), text_of(operator.get(f"{page}/edit"))
    assert [text for text in (shown, form) if "zqplatform" in text or "another channel" not in text] == []
    saved = operator.post(f"{page}/edit", {**fields_of(form), "save": "1"})
    assert saved.status_code == 400
    assert "that you may send through" in error_beside(text_of(saved), "to")
    rule.refresh_from_db()
    assert (rule.to, rule.version) == ([str(channel.id)], 1)
