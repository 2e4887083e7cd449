"""Slack, PagerDuty and webhooks, each proven by its receiver's own record."""

from __future__ import annotations

import json

import pytest
from standardwebhooks.webhooks import Webhook

from controlplane.access.authentication import caller_for
from controlplane.delivery.models import Delivery, Sink
from controlplane.delivery.sink_secrets import secrets_of
from controlplane.delivery.sinks import visible_sinks
from controlplane.errors import InvalidRequest
from controlplane.notifications.alerts import acknowledge_message
from controlplane.notifications.models import NotificationMessage
from registry.agents.states import State
from tests.integration.controlplane.notifications.conftest import (
    ROUTING_KEY,
    actor_of,
    bodies,
    pass_time,
    report,
)
from tests.support.webhook_receiver import Reply

pytestmark = pytest.mark.django_db(transaction=True)


def live_through(office, creator, names=("eu-1", "eu-2")) -> None:
    """Begin, partly end, acknowledge and end a digest of two agents."""
    report(State.UNAVAILABLE, *names)
    office.run()
    pass_time(60)
    office.run()
    report(State.READY, names[0])
    office.run()
    pass_time(60)
    office.run()
    acknowledge_message(NotificationMessage.objects.get(), actor=actor_of(creator))
    office.run()
    report(State.READY, names[1])
    office.run()


def test_slack_shows_one_message_that_is_changed_in_place(make_channel, make_rule, office, creator, receiver):
    make_rule(make_channel(), mode="digest")
    live_through(office, creator)

    assert [request.path for request in receiver.received] == [
        "/api/chat.postMessage",
        *["/api/chat.update"] * 3,
    ]
    sent = bodies(receiver)
    assert sent[0]["channel"] == "#alerts"
    assert {(one["channel"], one["ts"]) for one in sent[1:]} == {("C1", "1700000000.000100")}
    assert receiver.received[0].headers["authorization"] == "Bearer xoxb-test"
    headers = [one["blocks"][0]["text"]["text"] for one in sent]
    assert headers[0].endswith("2 × agent unavailable (prod)")
    assert headers[-1].endswith("Resolved: 2 × agent unavailable (prod)")
    assert [len(one["blocks"]) for one in sent] == [3, 3, 2, 2]
    assert "xoxb" not in str(list(Delivery.objects.values()))


def test_slack_says_no_with_status_200(make_channel, make_rule, office, receiver):
    make_rule(make_channel(), mode="paged")
    receiver.reply = lambda request: Reply(body=b'{"ok":false,"error":"channel_not_found"}')
    report(State.UNAVAILABLE, "eu-1")
    office.run()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.last_error) == ("waiting", "channel_not_found")


def test_a_message_that_somebody_deleted_is_posted_anew(make_channel, make_rule, office, receiver):
    make_rule(make_channel(), mode="paged")
    report(State.UNAVAILABLE, "eu-1")
    office.run()
    gone = Reply(body=b'{"ok":false,"error":"message_not_found"}')
    posted = Reply(body=b'{"ok":true,"channel":"C1","ts":"2.0"}')
    receiver.reply = lambda request: gone if request.path.endswith("update") else posted
    report(State.READY, "eu-1")
    office.run()
    assert [one.path.rpartition(".")[2] for one in receiver.received] == [
        "postMessage",
        "update",
        "postMessage",
    ]
    assert set(Delivery.objects.values_list("state", "reference")) == {
        ("delivered", "C1/1700000000.000100"),
        ("delivered", "C1/2.0"),
    }


def test_slacks_incoming_webhook_gets_begin_and_end(make_channel, make_rule, office, creator, receiver):
    credentials = {"webhook_url": f"{receiver.url}/services/T/B/x"}
    make_rule(make_channel(config={}, credentials=credentials), mode="digest")
    live_through(office, creator, names=("<!channel>", "b"))
    assert len(receiver.received) == 2
    assert "&lt;!channel&gt;" in bodies(receiver)[0]["blocks"][1]["text"]["text"]


def test_pagerduty_opens_acknowledges_and_resolves_one_incident(
    make_channel, make_rule, office, creator, receiver
):
    make_rule(make_channel("pagerduty"), mode="digest", severity="critical")
    receiver.reply = lambda request: Reply(202, body=b'{"status":"success"}')
    live_through(office, creator)

    sent = bodies(receiver)
    assert [one["event_action"] for one in sent] == ["trigger", "acknowledge", "resolve"]
    assert {one["dedup_key"] for one in sent} == {str(NotificationMessage.objects.get().id)}
    assert {one["routing_key"] for one in sent} == {ROUTING_KEY}
    assert {request.path for request in receiver.received} == {"/v2/enqueue"}
    payload = sent[0]["payload"]
    assert (payload["severity"], payload["summary"]) == ("critical", "2 × agent unavailable (prod)")


def test_a_webhook_gets_signed_messages_and_nothing_else(make_channel, make_rule, office, creator, receiver):
    channel = make_channel("webhook")
    make_rule(channel, mode="digest")
    live_through(office, creator)
    secret = secrets_of(Sink.objects.get()).signing[0].text
    events = [Webhook(secret).verify(one.body, one.headers) for one in receiver.received]
    assert [event["data"]["step"] for event in events] == ["trigger", "update", "acknowledge", "resolve"]
    assert {event["type"] for event in events} == {"dev.controlplane.notification.message.v1"}


def test_channels_are_no_sinks(make_channel, creator):
    make_channel()
    assert not visible_sinks(caller_for(creator)).exists()


@pytest.mark.parametrize(
    ("kind", "terms", "part"),
    [
        ("slack", {"credentials": {}}, "either `webhook_url` or `bot_token`"),
        ("slack", {"config": {}}, "name a conversation"),
        ("slack", {"config": {}, "credentials": {"webhook_url": "http://10.0.0.1/x"}}, "private address"),
        ("pagerduty", {"credentials": {"routing_key": "short"}}, "32 letters and digits"),
        ("email", {"config": {"to": []}}, "1 to 50 recipients"),
        ("email", {"config": {"to": ["nobody"]}}, "no e-mail address"),
        ("webhook", {"config": {"url": "http://10.0.0.1/x"}}, "private address"),
    ],
)
def test_a_channel_that_could_send_nothing_is_refused(make_channel, kind, terms, part):
    with pytest.raises(InvalidRequest, match=part):
        make_channel(kind, **terms)


def test_credentials_are_in_no_record(make_channel, make_rule, office, receiver):
    from controlplane.access.models import AuditRecord
    from controlplane.events.models import Event

    make_rule(make_channel("pagerduty"), mode="paged")
    report(State.UNAVAILABLE, "eu-1")
    office.run()
    records = [list(AuditRecord.objects.values()), list(Event.objects.values()), list(Sink.objects.values())]
    assert ROUTING_KEY not in json.dumps(records, default=str)
