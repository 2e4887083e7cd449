"""Rules, channels and alerts by HTTP; messages that others send; Alertmanager; Slack's button."""

from __future__ import annotations

import hmac
import json
import time
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from standardwebhooks.webhooks import Webhook

from controlplane.access.models import AuditRecord
from controlplane.delivery.models import Delivery, Sink
from controlplane.events.models import Event
from controlplane.notifications.engine import Engine
from controlplane.notifications.models import Alert, NotificationMessage, NotificationRule
from registry.agents.states import State
from tests.integration.controlplane.notifications.conftest import report
from tests.support.api_client import Api
from tests.support.webhook_receiver import Reply, running_receiver

pytestmark = pytest.mark.django_db
SLACK = {
    "name": "on call",
    "kind": "slack",
    "config": {"conversation": "#on-call"},
    "credentials": {"bot_token": "xoxb-secret", "signing_secret": "signing"},
}


@pytest.fixture
def engine() -> Engine:
    engine = Engine()
    engine.step()
    return engine


@pytest.fixture
def channel(api: Api) -> str:
    created = api.post("notification-channels", SLACK)
    assert created.status_code == 201, created.json()
    return str(created.json()["id"])


def make_rule(api: Api, channel: str, **more: Any) -> Any:
    body = {"name": "agents", "when": {"types": ["agent.unavailable"]}, "to": [channel], "mode": "paged"}
    return api.post("notification-rules", {**body, **more})


def test_a_channel_is_created_read_replaced_and_deleted_without_showing_its_credentials(api, channel):
    path = f"notification-channels/{channel}"
    first = api.get(path)
    assert first.json() == api.get("notification-channels?kind=slack").json()["items"][0]
    assert api.get("notification-channels?kind=email").json()["items"] == []
    assert api.get("sinks").json()["items"] == []
    assert api.get(f"sinks/{channel}").json()["code"] == "unknown_sink"
    body = {"name": "moved", "kind": "slack", "config": {"conversation": "#other"}}
    changed = api.put(path, body, If_Match=first["ETag"])
    assert (changed.status_code, changed.json()["config"]) == (200, {"conversation": "#other"})
    assert "xoxb" not in str([first.json(), changed.json(), *AuditRecord.objects.values()])
    assert api.delete(path, If_Match=changed["ETag"]).status_code == 204
    assert api.get(path).json()["code"] == "unknown_notification_channel"


def test_a_rule_is_created_read_replaced_and_deleted(api, channel):
    created = make_rule(api, channel, quiet_hours={"tz": "Europe/Prague", "windows": []})
    assert created.status_code == 201, created.json()
    path = f"notification-rules/{created.json()['id']}"
    assert api.get(path).json() == created.json() == api.get("notification-rules").json()["items"][0]
    assert api.delete(f"notification-channels/{channel}", If_Match="*").json()["code"] == "still_in_use"
    body = {"name": "agents", "when": {}, "to": [], "severity": "info"}
    changed = api.put(path, body, If_Match=created["ETag"])
    assert (changed.status_code, changed.json()["to"], changed.json()["severity"]) == (200, [], "info")
    assert api.put(path, body, If_Match=created["ETag"]).status_code == 412
    assert api.delete(path, If_Match=changed["ETag"]).status_code == 204
    types = Event.objects.filter(object_type="notification_rule").order_by("position")
    assert [event.type.partition(".")[2] for event in types] == ["created", "changed", "deleted"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"subject": "{{ data.nothing }}"}, "/subject"),
        ({"body": "{{ workflow.nothing }}"}, "/body"),
        ({"subject": "{{ broken"}, "/subject"),
        ({"when": {"expression": "type ="}}, "/when/expression"),
        ({"when": {"scopes": [{"workflow": "train"}]}}, "/when/scopes/0/domain"),
        ({"when": {"types": ["notification.*"]}}, "/when/types"),
        ({"when": {"types": ["agent.*"], "phases": ["FAILED"]}}, "/when/phases"),
        ({"to": ["019a9f5e-7c00-7000-8000-000000000099"]}, "/to/0"),
        ({"quiet_hours": {"tz": "Mars/Base", "windows": []}}, "/quiet_hours/tz"),
        (
            {"quiet_hours": {"tz": "UTC", "windows": [{"from": "25:00", "to": "07:00"}]}},
            "/quiet_hours/windows/0/from",
        ),
    ],
)
def test_a_rule_that_cannot_work_is_refused(api, channel, change, pointer):
    answer = make_rule(api, channel, **change)
    assert answer.status_code == 400, answer.json()
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_rule_with_flytes_and_our_variables_is_accepted(api, channel):
    subject = (
        "{{ project }}/{{domain}} {{ workflow.name }} {{ launch_plan.version }} {{ phase }}: {{ data.any }}"
    )
    when = {"types": ["flyte.workflow_event"], "phases": ["FAILED"]}
    assert make_rule(api, channel, subject=subject, body="{{ error }}", when=when).status_code == 201


def test_the_preview_says_what_a_rule_would_have_done_in_the_last_day(api, channel):
    report(State.UNAVAILABLE, "a", "b")
    report(State.READY, "a")
    body = {"name": "x", "when": {"types": ["agent.unavailable"]}, "to": [], "mode": "digest"}
    shown = api.post("notification-rules:preview", body).json()
    assert {name: shown[name] for name in ("matching", "alerts", "messages", "suppressed")} == {
        "matching": 2,
        "alerts": 2,
        "messages": 1,
        "suppressed": 1,
    }
    assert [one["title"] for one in shown["examples"]] == ["agent unavailable: b", "agent unavailable: a"]
    assert not Alert.objects.exists()


def test_an_alert_is_listed_and_acknowledged(api, channel, engine):
    rule = make_rule(api, channel).json()
    report(State.UNAVAILABLE, "eu-1")
    engine.step()
    (alert,) = api.get(f"alerts?state=firing&severity=warning&rule={rule['id']}").json()["items"]
    assert (alert["title"], alert["is_sent"], alert["rule"]) == ("agent unavailable: eu-1", True, "agents")
    path = f"alerts/{alert['id']}"
    acknowledged = api.post(f"{path}:acknowledge").json()
    assert acknowledged["state"] == "acknowledged"
    assert acknowledged["acknowledged_by"]
    assert api.post(f"{path}:acknowledge").json() == acknowledged == api.get(path).json()
    report(State.READY, "eu-1")
    engine.step()
    assert api.post(f"{path}:acknowledge").json()["code"] == "conflict"


def test_built_in_rules_begin_without_a_channel_and_work_for_who_chooses_one(api, channel, engine):
    rule = next(one for one in api.get("notification-rules").json()["items"] if one["name"] == "Fleet guard")
    assert (rule["created_by"], rule["to"]) == (None, [])
    body = {name: rule[name] for name in ("name", "when", "mode", "severity", "subject", "body")}
    changed = api.put(f"notification-rules/{rule['id']}", {**body, "to": [channel]}, If_Match="*")
    assert changed.json()["created_by"] is not None, changed.json()


def test_a_test_of_a_channel_shows_what_its_receiver_said(api, channel, settings):
    with running_receiver() as receiver:
        settings.SLACK_API_URL = receiver.url
        settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
        (shown,) = api.post(f"notification-channels/{channel}:test").json()["results"]
        assert (shown["result"], shown["status"]) == ("server_error", 200)
        assert len(receiver.received) == 1


def test_a_task_sends_through_a_channel_so_many_times_an_hour(api, channel, engine, settings):
    settings.NOTIFICATIONS_PER_HOUR = 2
    note = {"channel": channel, "subject": "done", "text": "Loss 0.03", "key": "train"}
    assert api.post("notifications:send", note).json() == {"key": "train"}
    assert api.post("notifications:send", {**note, "state": "resolved"}).status_code == 202
    assert api.post("notifications:send", note).json()["code"] == "too_many_attempts"
    engine.step()
    assert [row.key for row in Delivery.objects.order_by("seq")] == [f"{channel}/train"] * 2
    assert [event.data["step"] for event in Event.objects.filter(type="notification.message")] == [
        "trigger",
        "resolve",
    ]


def test_alertmanagers_alerts_are_matched_by_their_labels_and_resolved(api, channel, engine):
    when = {"types": ["alertmanager.firing"], "labels": {"severity": "critical"}}
    make_rule(api, channel, when=when, subject="{{ data.name }}: {{ data.annotations.summary }}")

    def send(status: str) -> dict[str, int]:
        alerts = [
            {
                "status": status,
                "labels": {"alertname": name, "severity": severity},
                "annotations": {"summary": "full"},
                "startsAt": "2026-11-22T09:30:00Z",
                "fingerprint": name,
            }
            for name, severity in (("DiskFull", "critical"), ("Noise", "info"))
        ]
        body = {"version": "4", "groupKey": "{}", "receiver": "cp", "status": status, "alerts": alerts}
        answer = api.post("alertmanager", body).json()
        engine.step()
        return answer

    assert send("firing") == {"accepted": 2, "news": 2}
    assert send("firing") == {"accepted": 2, "news": 0}
    alert = Alert.objects.get()
    assert (alert.title, alert.state, alert.count) == ("DiskFull: full", "firing", 1)
    assert send("resolved") == {"accepted": 2, "news": 2}
    alert.refresh_from_db()
    assert alert.state == "resolved"


def press(channel: str, message: str, secret: str, at: float) -> Any:
    action = {"action_id": "controlplane_acknowledge", "value": f"{channel}/{message}"}
    payload = {"type": "block_actions", "user": {"id": "U1", "username": "ada"}, "actions": [action]}
    body = urlencode({"payload": json.dumps(payload)}).encode()
    timestamp = str(int(at))
    signed = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, sha256).hexdigest()
    headers = {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={signed}"}
    return Client().post("/slack/actions", body, "application/x-www-form-urlencoded", headers=headers)


def test_slacks_button_acknowledges_if_slack_has_signed_it_just_now(api, channel, engine):
    make_rule(api, channel)
    report(State.UNAVAILABLE, "eu-1")
    engine.step()
    message = str(NotificationMessage.objects.get().id)
    now = time.time()
    assert press(channel, message, "wrong", now).status_code == 401
    assert press(channel, message, "signing", now - 301).status_code == 401
    assert press(str(Sink.objects.get().team_id or message), message, "signing", now).status_code == 401
    assert Alert.objects.get().state == "firing"
    assert press(channel, message, "signing", now).status_code == 200
    alert = Alert.objects.get()
    assert (alert.state, alert.acknowledged_by) == ("acknowledged", "system:slack/ada")
    assert AuditRecord.objects.filter(action="alert.acknowledged", actor="system:slack/ada").exists()


def test_rules_and_channels_are_limited(api, channel, monkeypatch):
    monkeypatch.setattr(
        "controlplane.notifications.rule_changes._MOST_RULES", NotificationRule.objects.count()
    )
    assert make_rule(api, channel).json()["code"] == "limit_reached"


OTHER = {
    "name": "phones",
    "kind": "other",
    "config": {"service": "ntfy", "room": "on-call", "tls": False},
    "credentials": {"token": "tk_secret0"},
}


@pytest.fixture
def ntfy(settings: Any) -> Any:
    settings.OUTGOING_ALLOWED_NETWORKS, settings.WEBHOOK_ALLOW_HTTP = ["127.0.0.0/8"], True
    with running_receiver() as receiver:
        host = receiver.url.removeprefix("http://").removesuffix("/hook")
        yield receiver, {**OTHER, "config": {**OTHER["config"], "host": host}}


def test_another_service_is_created_and_tested_without_showing_its_credentials(api, ntfy, caplog):
    receiver, body = ntfy
    caplog.set_level(1)
    created = api.post("notification-channels", body)
    assert created.status_code == 201, created.json()
    channel = created.json()
    assert (channel["kind"], channel["config"], channel["secret"]) == ("other", body["config"], "")
    (result,) = api.post(f"notification-channels/{channel['id']}:test").json()["results"]
    assert (result["result"], result["status"], result["error"]) == ("delivered", 200, "")
    (request,) = receiver.received
    assert (request.path, request.headers["authorization"]) == ("/", "Bearer tk_secret0")
    assert json.loads(request.body)["topic"] == "on-call"
    receiver.reply = lambda request: Reply(401, body=b"tk_secret0 is unknown")
    (result,) = api.post(f"notification-channels/{channel['id']}:test").json()["results"]
    assert (result["result"], result["error"]) == ("client_error", "The receiver answered with 401.")
    assert "secret0" not in caplog.text + str([channel, *AuditRecord.objects.values()])


def test_credentials_do_not_follow_a_change_of_the_server(api, ntfy):
    """Who may change a channel could read them at a server of their own."""
    _, body = ntfy
    created = api.post("notification-channels", body)
    path = f"notification-channels/{created.json()['id']}"
    kept = {"name": "phones", "kind": "other", "config": {**body["config"], "room": "other-topic"}}
    changed = api.put(path, kept, If_Match=created["ETag"])
    assert changed.status_code == 200, changed.json()
    for moved in ({"host": "127.0.0.1:9"}, {"service": "gotify"}, {"tls": True}):
        refused = api.put(path, {**kept, "config": {**kept["config"], **moved}}, If_Match=changed["ETag"])
        assert [error["pointer"] for error in refused.json()["errors"]] == ["/credentials"]
    given = {**kept, "config": {**kept["config"], "host": "127.0.0.1:9"}, "credentials": {"token": "tk_new"}}
    assert api.put(path, given, If_Match=changed["ETag"]).status_code == 200


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"config": {"service": "pigeon"}}, "/config/service"),
        ({"config": {}}, "/config/service"),
        ({"config": {"service": "ntfy"}}, "/config/room"),
        ({"config": {"service": "ntfy", "room": "a/b"}}, "/config/room"),
        ({"config": {"service": "ntfy", "room": "a", "user": "b"}}, "/config/user"),
        ({"config": {"service": "ntfy", "room": "a", "host": "10.0.0.1"}}, "/config/host"),
        ({"config": {"service": "ntfy", "room": "a", "host": "host/?to=x"}}, "/config/host"),
        ({"config": {"service": "ntfy", "room": "a", "host": "user@host"}}, "/config/host"),
        ({"config": {"service": "ntfy", "room": "a", "host": "127.0.0.1", "tls": False}}, "/config/tls"),
        ({"credentials": {"token": "tk_secret0 "}}, "/credentials/token"),
        ({"credentials": {"token": "tk_secret0?to=x"}}, "/credentials/token"),
        ({"credentials": {"password": "secret0"}}, "/credentials/password"),
        (
            {"config": {"service": "discord"}, "credentials": {"webhook_url": "ntfy://secret0"}},
            "/credentials/webhook_url",
        ),
    ],
)
def test_another_service_that_cannot_work_is_refused(api, settings, change, pointer):
    settings.WEBHOOK_ALLOW_HTTP = False
    body = {**OTHER, "config": {"service": "ntfy", "room": "on-call", "host": "203.0.113.7"}, **change}
    settings.OUTGOING_ALLOWED_NETWORKS = ["203.0.113.0/24"]
    refused = api.post("notification-channels", body)
    assert refused.status_code == 400, refused.json()
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]
    assert "secret0" not in str(refused.json())


def test_a_webhook_signs_with_its_old_secret_until_the_overlap_ends(api, settings):
    settings.WEBHOOK_ALLOW_HTTP = True
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with running_receiver() as receiver:
        body = {"name": "bot", "kind": "webhook", "config": {"url": receiver.url}}
        made = api.post("notification-channels", body).json()
        path = f"notification-channels/{made['id']}"
        new = api.post(f"{path}:rotate-secret", {"overlap_hours": 1}).json()["secret"]
        api.post(f"{path}:test")
    (request,) = receiver.received
    assert new != made["secret"]
    for secret in (made["secret"], new):
        Webhook(secret).verify(request.body, request.headers)


def test_a_channel_that_signs_nothing_has_no_secret_to_rotate(api, channel):
    answer = api.post(f"notification-channels/{channel}:rotate-secret", {"overlap_hours": 1})
    assert answer.status_code == 409
