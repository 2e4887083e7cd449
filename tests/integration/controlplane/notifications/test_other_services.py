"""Services through apprise, each proven by its server's own record."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from controlplane.delivery.models import Delivery, DeliveryAttempt, Sink
from controlplane.errors import InvalidRequest
from controlplane.events.models import Event
from controlplane.notifications.channel_changes import test_channel as send_test
from registry.agents.states import State
from tests.integration.controlplane.notifications.conftest import bodies, report
from tests.support.webhook_receiver import Received, Receiver, Reply

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "S3cretS3cretS3cret"
SERVICES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "ntfy": ({"room": "on-call"}, {"token": f"tk_{SECRET}"}),
    "gotify": ({}, {"token": SECRET}),
    "mattermost": ({"room": "on-call"}, {"token": SECRET}),
    "rocketchat": ({"room": "#on-call"}, {"token": f"id/{SECRET}"}),
    "matrix": ({"room": "!abc:example.com"}, {"token": SECRET}),
}


def host_of(receiver: Receiver) -> str:
    return receiver.url.removeprefix("http://").removesuffix("/hook")


@pytest.fixture
def make_other(make_channel, receiver):
    def make(service: str, **config: Any) -> Sink:
        settings, credentials = SERVICES[service]
        config = {"service": service, "host": host_of(receiver), "tls": False, **settings, **config}
        return make_channel("other", config=config, credentials=credentials)

    return make


@pytest.fixture
def records(caplog) -> Any:
    """Everything that any logger says, down to the finest level."""
    caplog.set_level(1)
    for name in ("apprise", "urllib3", "requests"):
        caplog.set_level(1, logger=name)
    return caplog


def live_through(office) -> None:
    report(State.UNAVAILABLE, "eu-1")
    office.run()
    report(State.READY, "eu-1")
    office.run()


def test_ntfy_gets_begin_and_end(make_other, make_rule, office, receiver):
    make_rule(make_other("ntfy"), mode="paged")
    live_through(office)
    first, second = bodies(receiver)
    assert {request.path for request in receiver.received} == {"/"}
    assert receiver.received[0].headers["authorization"] == f"Bearer tk_{SECRET}"
    assert (first["topic"], first["title"]) == ("on-call", "agent unavailable: eu-1")
    assert second["title"] == "Resolved: agent unavailable: eu-1"
    assert first["message"].endswith("/alerts")


def test_gotify_gets_begin_and_end(make_other, make_rule, office, receiver):
    make_rule(make_other("gotify"), mode="paged")
    live_through(office)
    assert [request.path for request in receiver.received] == ["/message"] * 2
    assert receiver.received[0].headers["x-gotify-key"] == SECRET
    titles = [body["title"] for body in bodies(receiver)]
    assert titles == ["agent unavailable: eu-1", "Resolved: agent unavailable: eu-1"]


@pytest.mark.parametrize(
    ("service", "path"), [("mattermost", f"/hooks/{SECRET}"), ("rocketchat", f"/hooks/id/{SECRET}")]
)
def test_webhooks_of_chats_get_begin_and_end_as_code_blocks(
    make_other, make_rule, office, receiver, service, path
):
    make_rule(make_other(service), mode="paged")
    live_through(office)
    assert [request.path for request in receiver.received] == [path] * 2
    first, second = (body["text"] for body in bodies(receiver))
    assert first.startswith("```\nagent unavailable: eu-1\n")
    assert second.startswith("```\nResolved: agent unavailable: eu-1\n")


def test_matrix_gets_begin_and_end_in_a_room(make_other, make_rule, office, receiver):
    receiver.reply = lambda request: Reply(body=b'{"room_id":"!abc:example.com","event_id":"$1"}')
    make_rule(make_other("matrix"), mode="paged")
    live_through(office)
    sent = [request for request in receiver.received if "/send/" in request.path]
    assert [json.loads(one.body)["body"].split("\r\n")[0].split("\n")[0] for one in sent] == [
        "agent unavailable: eu-1",
        "Resolved: agent unavailable: eu-1",
    ]
    assert {one.headers["authorization"] for one in receiver.received} == {f"Bearer {SECRET}"}


@pytest.mark.parametrize("service", SERVICES)
def test_a_server_that_refuses_is_shown_and_asked_again_later(
    make_other, make_rule, office, receiver, records, service
):
    token = SERVICES[service][1]["token"]
    receiver.reply = lambda request: Reply(403, body=f"no {token}, {token.replace('/', '%2F')}".encode())
    make_rule(make_other(service), mode="paged")
    report(State.UNAVAILABLE, "eu-1")
    office.run()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.last_error) == ("waiting", "The receiver answered with 403.")
    attempt = DeliveryAttempt.objects.get()
    assert (attempt.result, attempt.status) == ("client_error", 403)
    check_records(records)


@pytest.mark.parametrize("service", ["ntfy", "matrix"])
@pytest.mark.parametrize("reply", [Reply(hang=30), Reply(body=b"x" * 1000, drip=0.2)])
def test_a_slow_server_is_cut_off(make_other, settings, receiver, service, reply):
    channel = make_other(service)
    settings.WEBHOOK_TIMEOUT_SECONDS = 1
    receiver.reply = lambda request: reply
    began = time.monotonic()
    ((_, sent),) = send_test(channel)
    assert time.monotonic() - began < 4
    assert (sent.answer.result, sent.answer.error) == ("timeout", "The receiver did not answer within 1 s.")


@pytest.mark.parametrize("service", SERVICES)
def test_redirects_are_not_followed(make_other, receiver, service):
    channel = make_other(service)
    receiver.reply = lambda request: Reply(302, headers={"Location": receiver.url})
    ((_, sent),) = send_test(channel)
    assert (sent.answer.result, sent.answer.status) == ("redirect", 302)
    assert "/hook" not in {request.path for request in receiver.received}


def test_a_host_whose_address_becomes_private_gets_nothing(make_other, settings, receiver):
    channel = make_other("gotify")
    settings.OUTGOING_ALLOWED_NETWORKS = []
    ((_, sent),) = send_test(channel)
    assert (sent.answer.result, receiver.received) == ("address_refused", [])


def test_an_address_is_looked_up_once_for_a_request(make_other, monkeypatch, receiver):
    """A name whose second answer is another address (DNS rebinding) has no effect."""
    channel = make_other("gotify")
    lookups: list[str] = []
    resolve = "controlplane.outgoing.socket.getaddrinfo"

    def look_up(host: str, port: int, *rest: Any, **more: Any) -> Any:
        lookups.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(resolve, look_up)
    channel.config["host"] = f"rebound.example:{host_of(receiver).partition(':')[2]}"
    ((_, sent),) = send_test(channel)
    # The second is of the checked address itself, by the connection.
    assert lookups == ["rebound.example", "127.0.0.1"]
    assert (sent.answer.result, len(receiver.received)) == ("delivered", 1)


@pytest.mark.parametrize("service", SERVICES)
def test_secrets_are_in_no_log_and_no_record(make_other, make_rule, office, receiver, records, service):
    def repeat(request: Received) -> Reply:
        return Reply(
            body=json.dumps({"room_id": "!a:b", "echo": f"{request.headers} {request.path}"}).encode()
        )

    receiver.reply = repeat
    make_rule(make_other(service), mode="paged")
    live_through(office)
    assert Delivery.objects.filter(state="delivered").count() == 2
    check_records(records)


def check_records(records: Any) -> None:
    kept = [AuditRecord, Event, Sink, Delivery, DeliveryAttempt]
    assert SECRET not in json.dumps([list(model.objects.values()) for model in kept], default=str)
    assert SECRET not in records.text
    assert "apprise" not in {record.name for record in records.records}


@pytest.mark.parametrize(
    "token", [f"{SECRET}/x", f"{SECRET} x", f"{SECRET}@evil.example", f"{SECRET}?to=x", f"{SECRET}%2F"]
)
def test_tokens_that_are_refused_are_in_no_log(make_channel, receiver, records, token):
    config = {"service": "gotify", "host": host_of(receiver), "tls": False}
    with pytest.raises(InvalidRequest) as refused:
        make_channel("other", config=config, credentials={"token": token})
    assert SECRET not in f"{refused.value} {refused.value.errors} {records.text}"


def test_what_apprise_refuses_is_refused_without_its_words(make_channel, receiver, records, monkeypatch):
    """By the pattern of an older version, say: apprise's own check is the last one."""
    from controlplane.notifications.channels.services import SERVICES, Part

    monkeypatch.setitem(SERVICES["zulip"].credentials, "token", Part(r".+", "a key"))
    config = {"service": "zulip", "host": "127.0.0.1", "user": "cp-bot", "room": "ops"}
    monkeypatch.setitem(SERVICES["zulip"].config, "host", Part(r".+", "a host"))
    with pytest.raises(InvalidRequest) as refused:
        make_channel("other", config=config, credentials={"token": SECRET})
    assert [error.pointer for error in refused.value.errors] == ["/credentials"]
    assert refused.value.__cause__ is None
    assert SECRET not in f"{refused.value} {records.text}"
    assert logging.getLogger("apprise").disabled
