"""Pages of notification rules: list, create, edit, preview, delete, and who sees them and the channels."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from controlplane.access import principals
from controlplane.access.models import AuditRecord
from controlplane.access.role_bindings import bind_role, find_role
from controlplane.access.roles.custom_roles import create_role
from controlplane.access.teams.teams import create_team
from controlplane.delivery.models import Sink
from controlplane.events.models import Event
from controlplane.identity.roles import Action, Role
from controlplane.notifications.models import Alert, NotificationRule
from controlplane.scopes import Scope
from registry.agents.states import State
from tests.integration.controlplane.notifications.conftest import report
from tests.support.api_client import ACTOR, Api, logged_in, make_project
from tests.support.notification_forms import (
    EMAIL,
    RULE,
    create_channel,
    create_rule,
    error_beside,
    fields_of,
    text_of,
)
from tests.support.two_teams import browser_of


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ["203.0.113.0/24", "127.0.0.0/8"]
    settings.WEBHOOK_ALLOW_HTTP = True


@pytest.fixture
def browser(db: None) -> Client:
    return logged_in("jane", Role.ADMIN)


@pytest.fixture
def own_rules(db: None) -> None:
    """Without the built-in rules."""
    NotificationRule.objects.all().delete()


def test_a_rule_is_created_with_all_its_fields_listed_and_edited(browser, own_rules):
    first, second = create_channel(browser), create_channel(browser, "slack")
    rule = create_rule(
        browser,
        types="flyte.workflow_event, agent.*",
        scopes="project=shop, domain=production",
        labels="region=eu",
        expression="EXISTS cpteam",
        phases=["FAILED", "ABORTED"],
        to=[str(second.id), "", str(first.id)],
        tz="Europe/Prague",
        windows="fri-mon 22:00-07:00\n12:00-13:00",
        escalate_seconds="600",
        subject="{{ object.id }} needs you",
        reason="On call",
        **{"except": ["critical", "warning"]},
    )
    assert rule.to == [str(second.id), str(first.id)]
    assert rule.when["phases"] == ["FAILED", "ABORTED"]
    assert rule.when["scopes"][0]["project"] == "shop"
    assert rule.quiet_hours == {
        "tz": "Europe/Prague",
        "windows": [
            {"days": ["fri", "sat", "sun", "mon"], "from": "22:00", "to": "07:00"},
            {"from": "12:00", "to": "13:00"},
        ],
        "except": ["critical", "warning"],
    }
    assert (rule.escalate_seconds, rule.digest_seconds, rule.max_per_hour) == (600, 120, 30)
    assert AuditRecord.objects.get(action="notification_rule.created").reason == "On call"
    listed = text_of(browser.get("/notification-rules"))
    for part in ("production agents", "chat, on call", "flyte.workflow_event, agent.*", "region=eu"):
        assert part in listed
    assert "/notification-rules" in text_of(browser.get("/alerts"))

    page = f"/notification-rules/{rule.id}"
    shown = text_of(browser.get(page))
    assert [
        part for part in ("Europe/Prague", "fri, sat, sun, mon 22:00-07:00", "600 s") if part not in shown
    ] == []
    form = text_of(browser.get(f"{page}/edit"))
    assert 'value="FAILED" checked' in form
    assert "fri, sat, sun, mon 22:00-07:00\n12:00-13:00" in form
    changed = {**RULE, "name": "renamed", "retract": "", "version": "1", "save": "1"}
    assert browser.post(f"{page}/edit", changed)["Location"] == page
    rule.refresh_from_db()
    assert (rule.name, rule.when, rule.to, rule.quiet_hours, rule.retract, rule.version) == (
        "renamed",
        {"types": ["agent.unavailable"]},
        [],
        {},
        False,
        2,
    )
    types = Event.objects.filter(object_type="notification_rule").order_by("position")
    assert [event.type for event in types][-2:] == ["notification_rule.created", "notification_rule.changed"]


def test_an_unchanged_form_keeps_every_field_of_a_rule(browser, api, own_rules):
    channel = create_channel(browser)
    body = {
        "name": "whole",
        "when": {"types": ["agent.*"], "object_types": ["agent"], "labels": {"a": "b"}},
        "to": [str(channel.id)],
        "quiet_hours": {
            "tz": "UTC",
            "windows": [{"days": ["sat"], "from": "22:00", "to": "07:00"}],
            "except": ["info"],
        },
        "dedupe_key": "{{ object.id }}",
        "subject": "s",
        "body": "  first\nsecond",
        "is_active": False,
        "retract": False,
        "escalate_seconds": 60,
        "digest_seconds": 5,
        "max_per_hour": 7,
        "mode": "paged",
        "severity": "info",
    }
    created = api.post("notification-rules", body)
    page = f"/notification-rules/{created.json()['id']}/edit"
    fields = fields_of(text_of(browser.get(page)))
    assert browser.post(page, {**fields, "save": "1"}).status_code == 302
    after = api.get(f"notification-rules/{created.json()['id']}").json()
    assert {**after, "version": 1} == created.json()


@pytest.mark.parametrize(
    ("field", "value", "beside", "part"),
    [
        ("name", "", "name", "blank"),
        ("expression", "type =", "expression", "At character 7"),
        ("labels", "eu", "labels", "is not a pair"),
        ("types", "notification.*", "types", "cannot report themselves"),
        ("phases", "FAILED", "phases", "have phases"),
        ("digest_seconds", "soon", "digest_seconds", "integer"),
        ("escalate_seconds", "5", "escalate_seconds", "30"),
        ("tz", "Mars/Base", "tz", "no time zone"),
        ("windows", "mon 25:00-07:00", "windows", "no time of a day"),
        ("windows", "22:00-07:00\nsomeday", "windows", "Line 2"),
        ("subject", "{{ data.nothing }}", "subject", "nothing"),
        ("to", "019a9f5e-7c00-7000-8000-000000000099", "to", "that you may send through"),
        ("to", "x", "to", "UUID"),
        ("team", "nobody", "team", "does not exist"),
    ],
)
def test_wrong_input_is_shown_beside_its_field_and_keeps_what_was_typed(
    browser, own_rules, field, value, beside, part
):
    typed = {**RULE, "object_types": "agent", "tz": "UTC", "windows": "mon 22:00-07:00", "reason": "Why not"}
    answer = browser.post("/notification-rules:new", {**typed, field: value, "save": "1"})
    text = text_of(answer)
    assert answer.status_code in (400, 404), text
    assert part in error_beside(text, beside), text
    assert "Correct the marked fields" in text
    assert 'name="object_types" value="agent"' in text
    assert 'value="Why not"' in text
    assert value in text
    assert not NotificationRule.objects.exists()


def test_a_name_that_is_taken_is_an_error_of_the_name(browser, own_rules):
    create_rule(browser)
    answer = browser.post("/notification-rules:new", {**RULE, "save": "1"})
    assert (answer.status_code, "already" in error_beside(text_of(answer), "name")) == (409, True)


def test_the_preview_counts_events_of_the_last_day_and_changes_nothing(browser, own_rules):
    report(State.UNAVAILABLE, "a", "b")
    report(State.READY, "a")
    before = (Event.objects.count(), AuditRecord.objects.count())
    answer = browser.post("/notification-rules:new", {**RULE, "name": "", "preview": "1"})
    text = " ".join(text_of(answer).split())
    assert answer.status_code == 200
    for part in (
        "<strong>2</strong> events matched",
        "<strong>2</strong> alerts",
        "<strong>1</strong> message<",
    ):
        assert part in text
    assert "<strong>1</strong> suppressed" in text
    assert "agent unavailable: b" in text
    other = text_of(
        browser.post("/notification-rules:new", {**RULE, "expression": "data.name = 'zq'", "preview": "1"})
    )
    assert "No event of the last day matches." in other
    assert (Event.objects.count(), AuditRecord.objects.count()) == before
    assert not NotificationRule.objects.exists()
    assert not Alert.objects.exists()


def test_a_preview_of_an_existing_rule_leaves_it_as_it_is(browser, own_rules):
    make_project("shop")
    rule = create_rule(browser)
    form = {**RULE, "types": "project.created", "version": "1", "preview": "1"}
    text = " ".join(text_of(browser.post(f"/notification-rules/{rule.id}/edit", form)).split())
    assert "<strong>1</strong> event matched" in text
    assert 'value="project.created"' in text
    rule.refresh_from_db()
    assert (rule.version, rule.when) == (1, {"types": ["agent.unavailable"]})


def test_a_version_conflict_keeps_what_was_typed(browser, own_rules):
    rule, channel = create_rule(browser), create_channel(browser)
    for page, form in (
        (f"/notification-rules/{rule.id}/edit", RULE),
        (f"/notification-channels/{channel.id}/edit", EMAIL),
    ):
        assert browser.post(page, {**form, "version": "1", "save": "1"}).status_code == 302
        stale = browser.post(page, {**form, "name": "stale", "version": "1", "save": "1"})
        assert (stale.status_code, 'value="stale"' in text_of(stale)) == (412, True)
        assert 'name="version" value="1"' in text_of(stale)
        unversioned = browser.post(page, {**form, "save": "1"})
        assert unversioned.status_code == 412


def test_a_rule_is_deleted_after_its_confirmation_and_then_its_channel(browser, own_rules):
    channel = create_channel(browser)
    rule = create_rule(browser, to=[str(channel.id)])
    refused = browser.post(f"/notification-channels/{channel.id}/delete", {"reason": ""})
    assert (refused.status_code, "production agents" in text_of(refused)) == (409, True)
    page = f"/notification-rules/{rule.id}/delete"
    assert "cannot be undone" in text_of(browser.get(page))
    assert NotificationRule.objects.exists()
    assert browser.post(page, {"reason": "Noise"})["Location"] == "/notification-rules"
    assert browser.get(page).status_code == 404
    assert AuditRecord.objects.get(action="notification_rule.deleted").reason == "Noise"
    gone = browser.post(f"/notification-channels/{channel.id}/delete", {"reason": ""})
    assert gone["Location"] == "/notification-channels"
    assert not Sink.objects.exists()


def test_another_team_sees_nothing_of_rules_and_channels(browser, own_rules):
    ours, _ = (create_team(slug, actor=ACTOR) for slug in ("ours", "other"))
    channel = create_channel(browser, team="other", name="zqchannel")
    rule = create_rule(browser, team="other", name="zqrule", to=[str(channel.id)])
    paths = (
        *(f"/notification-rules/{rule.id}{rest}" for rest in ("", "/edit", "/delete")),
        *(
            f"/notification-channels/{channel.id}{rest}"
            for rest in ("", "/edit", "/test", "/resume", "/rotate-secret", "/delete")
        ),
    )
    stranger = browser_of(ours, Role.OPERATOR)
    assert {path: stranger.get(path).status_code for path in paths} == dict.fromkeys(paths, 404)
    assert {path: stranger.post(path, RULE).status_code for path in paths} == dict.fromkeys(paths, 404)
    lists = ("/notification-rules", "/notification-channels", "/notification-rules:new")
    shown = {path: text_of(stranger.get(path)) for path in lists}
    assert [path for path, text in shown.items() if "zqrule" in text or "zqchannel" in text] == []
    taken = stranger.post("/notification-rules:new", {**RULE, "to": [str(channel.id)], "save": "1"})
    assert "that you may send through" in error_beside(text_of(taken), "to")


def test_a_reader_has_no_buttons_and_may_change_nothing(browser, own_rules):
    channel = create_channel(browser)
    rule = create_rule(browser, to=[str(channel.id)])
    create_role("watcher", title="Watches", actions={Action.NOTIFICATION_READ}, actor=ACTOR)
    watcher = principals.create_principal("wanda", kind="person", actor=ACTOR)
    bind_role(watcher, find_role("watcher"), Scope(), actor=ACTOR)
    client = Client()
    client.force_login(watcher)
    pages = (f"/notification-rules/{rule.id}", f"/notification-channels/{channel.id}")
    for path in ("/notification-rules", "/notification-channels", *pages):
        text = text_of(client.get(path))
        words = ("/edit", "/delete", "/test", ":new", "/rotate-secret")
        assert [word for word in words if f'{word}"' in text] == [], path
    changes = [f"{page}/{word}" for page in pages for word in ("edit", "delete")]
    changes += [f"{pages[1]}/test", "/notification-rules:new", "/notification-channels:new"]
    assert {path: client.post(path, RULE).status_code for path in changes} == dict.fromkeys(changes, 403)
    assert NotificationRule.objects.get().version == 1


def test_a_form_without_a_csrf_token_changes_nothing(browser, own_rules):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser.cookies
    assert strict.post("/notification-rules:new", {**RULE, "save": "1"}).status_code == 403
    assert not NotificationRule.objects.exists()


def test_the_preview_is_the_one_of_the_api(browser, api: Api, own_rules):
    report(State.UNAVAILABLE, "a", "b", "c")
    body = {"name": "x", "when": {"types": ["agent.unavailable"]}, "to": [], "mode": "paged"}
    by_api = api.post("notification-rules:preview", body).json()
    page = text_of(browser.post("/notification-rules:new", {**RULE, "mode": "paged", "preview": "1"}))
    counts = [int(number) for number in re.findall(r"<strong>(\d+)</strong>", page)]
    assert counts == [by_api[name] for name in ("matching", "alerts", "messages", "suppressed")]
    assert counts[0] == 3
