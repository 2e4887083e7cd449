"""Events to SNS and Pub/Sub over HTTP, by a relay; `tests/nightly/test_cloud_topics.py` has moto's SNS."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.delivery import ambient_identity, pubsub_sinks, sns_sinks
from controlplane.delivery.ambient_identity import AmbientIdentity
from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.kinds import Message, SinkKind, SinkSecrets
from controlplane.delivery.models import Delivery, Sink
from controlplane.delivery.pubsub_sinks import PUBSUB
from controlplane.delivery.schedule import Result
from controlplane.delivery.sns_sinks import SNS
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.support.cloud_topics import (
    BOTH,
    PUBSUB_TOPIC,
    TOPIC,
    Topics,
    confirm,
    create_sink_of,
    google_error,
    is_signed_by,
    running_topics,
    service_account,
    sns_error,
)
from tests.support.webhook_receiver import Reply
from tests.unit.controlplane.delivery.events import logged_event

SECRET = "secret-of-a-test"


@pytest.fixture
def topics() -> Iterator[Topics]:
    with running_topics() as topics:
        yield topics


@pytest.fixture(autouse=True)
def _identities(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Identities of the environment alone, looked up for each test."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIDTEST",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sns_sinks, "AWS_IDENTITY", AmbientIdentity("AWS", sns_sinks._look_up))
    monkeypatch.setattr(pubsub_sinks, "GOOGLE_IDENTITY", AmbientIdentity("Google", pubsub_sinks._look_up))


@pytest.fixture
def _account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, topics: Topics) -> None:
    account = service_account(tmp_path / "account.json", f"{topics.endpoint}/token")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))


@pytest.fixture
def _google(monkeypatch: pytest.MonkeyPatch, _account: None) -> None:
    """A service account, whose token the loopback address gets as Google's own would."""
    monkeypatch.setattr(pubsub_sinks, "_gets_token", lambda endpoint: True)


def message(**event: Any) -> Message:
    event = logged_event(**event)
    return Message(event, Origin("https://cp.example.com"), "agent/eu-1", event.at)


def send(kind: SinkKind, config: dict[str, Any], **event: Any) -> Any:
    sender = kind.open(config, SinkSecrets())
    return sender.send(message(**event)).answer


@pytest.mark.django_db(transaction=True)
def test_an_event_reaches_sns_in_order_and_signed(creator, relays, topics):
    created = create_sink_of("sns", {"topic_arn": f"{TOPIC}.fifo", "endpoint": topics.endpoint})
    assert created.status_code == 201, created.json()
    move("a", to="here")
    move("a", to="there")
    dispatch_all()
    relays.until_settled()

    assert [json.loads(one["Message"])["data"]["to"] for one in topics.to_sns] == ["here", "there"]
    first = topics.to_sns[0]
    assert (first["MessageGroupId"], first["Action"]) == ("thing/a", "Publish")
    assert first["MessageDeduplicationId"] == json.loads(first["Message"])["id"]
    assert [is_signed_by(one, SECRET) for one in topics.receiver.received] == [True, True]
    scope = "AKIDTEST/20"
    assert f"Credential={scope}" in topics.receiver.received[0].headers["authorization"]
    assert "/eu-central-1/sns/aws4_request" in topics.receiver.received[0].headers["authorization"]
    attempt = Delivery.objects.first().attempts.get()
    assert attempt.request_headers["ce-type"] == "dev.controlplane.thing.moved.v1"
    assert "authorization" not in {name.lower() for name in attempt.request_headers}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_google")
def test_an_event_reaches_pubsub_in_order_with_a_token(creator, relays, topics):
    created = create_sink_of("pubsub", {**PUBSUB_TOPIC, "endpoint": topics.endpoint})
    assert created.status_code == 201, created.json()
    move("a", to="here")
    move("a", to="there")
    dispatch_all()
    relays.until_settled()

    values = [json.loads(base64.b64decode(one["data"]))["to"] for one in topics.to_pubsub]
    assert values == ["here", "there"]
    assert {one["orderingKey"] for one in topics.to_pubsub} == {"thing/a"}
    assert topics.to_pubsub[0]["attributes"]["ce-type"] == "dev.controlplane.thing.moved.v1"
    token, *published = topics.receiver.received
    assert token.path == "/token"
    assert {one.path for one in published} == {"/v1/projects/my-project/topics/events:publish"}
    assert {one.headers["authorization"] for one in published} == {"Bearer token-of-a-test"}
    assert "token-of-a-test" not in str(list(Delivery.objects.first().attempts.values()))


@pytest.mark.django_db(transaction=True)
def test_without_an_order_pubsub_gets_no_ordering_key(creator, relays, topics):
    create_sink_of("pubsub", {**PUBSUB_TOPIC, "endpoint": topics.endpoint}, ordering="none")
    move("a")
    dispatch_all()
    relays.until_settled()
    assert "orderingKey" not in topics.to_pubsub[0]


@pytest.mark.usefixtures("_account")
def test_only_hosts_of_google_get_the_token(topics):
    pubsub = {**PUBSUB_TOPIC, "endpoint": topics.endpoint}
    assert send(PUBSUB, pubsub).result is Result.DELIVERED
    (request,) = topics.receiver.received
    assert "authorization" not in request.headers


@pytest.mark.parametrize(("kind", "config"), BOTH)
def test_an_endpoint_is_checked_at_every_attempt(kind, config, topics, settings):
    settings.OUTGOING_ALLOWED_NETWORKS = []
    answer = send(kind, {**config, "endpoint": topics.endpoint})
    assert (answer.result, topics.receiver.received) == (Result.ADDRESS_REFUSED, [])


@pytest.mark.parametrize(("kind", "config"), BOTH)
def test_the_cloud_itself_may_have_a_private_address(kind, config, topics, settings, monkeypatch):
    """As with AWS PrivateLink and Private Service Connect: no user chose its name."""
    settings.OUTGOING_ALLOWED_NETWORKS = []
    monkeypatch.setattr(sns_sinks, "_endpoint_of", lambda arn: topics.endpoint)
    monkeypatch.setattr(pubsub_sinks, "_ENDPOINT", topics.endpoint)
    assert send(kind, config).result is Result.DELIVERED


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("kind", "config", "missing"),
    [(*BOTH[0], sns_error(404, "NotFound")), (*BOTH[1], google_error(404, "NOT_FOUND"))],
)
def test_a_topic_that_is_missing_disables_the_sink(kind, config, missing, creator, relays, topics):
    topics.receiver.reply = lambda request: missing
    create_sink_of(kind.name, {**config, "endpoint": topics.endpoint})
    move("a")
    dispatch_all()
    relays.until(lambda: Sink.objects.get().state == "disabled")
    assert Sink.objects.get().reason == "topic_missing"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("kind", "config"), BOTH)
def test_an_outage_counts_no_attempt_and_loses_nothing(kind, config, creator, relays, topics):
    answers = [Reply(503, body=b"<html>")]
    topics.receiver.reply = lambda request: answers.pop() if answers else confirm(request)
    create_sink_of(kind.name, {**config, "endpoint": topics.endpoint})
    move("a")
    dispatch_all()
    relays.until(lambda: Sink.objects.get().progress.failures > 0)
    assert Delivery.objects.get().attempt == 0
    relays.until_settled()
    assert Delivery.objects.get().state == "delivered"


@pytest.mark.parametrize(
    ("kind", "config", "text", "part"),
    [(*BOTH[0], 300_000 * "x", "at most 262144"), (*BOTH[1], 8_000_000 * "x", "at most 10000000")],
)
def test_an_event_that_is_too_large_is_refused_for_good(kind, config, text, part, topics):
    answer = send(kind, {**config, "endpoint": topics.endpoint}, data={"text": text})
    assert (answer.result, topics.receiver.received) == (Result.REFUSED, [])
    assert part in answer.error


@pytest.mark.parametrize(("kind", "config"), BOTH)
def test_a_receiver_that_hangs_is_cut_off(kind, config, topics, monkeypatch):
    for module in (sns_sinks, pubsub_sinks):
        monkeypatch.setattr(module, "REQUEST_SECONDS", 0.3)
    topics.receiver.reply = lambda request: Reply(hang=10)
    answer = send(kind, {**config, "endpoint": topics.endpoint})
    assert (answer.result, answer.milliseconds < 3000) == (Result.OUTAGE, True)


def test_credentials_that_aws_does_not_accept_are_looked_up_again(topics, monkeypatch):
    sns = {"topic_arn": TOPIC, "endpoint": topics.endpoint}
    topics.receiver.reply = lambda request: sns_error(403, "ExpiredToken")
    assert send(SNS, sns).result is Result.OUTAGE
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "rotated")
    topics.receiver.reply = confirm
    assert send(SNS, sns).result is Result.DELIVERED
    assert [is_signed_by(one, "rotated") for one in topics.receiver.received] == [False, True]


@pytest.mark.usefixtures("_google")
def test_a_token_that_google_does_not_accept_is_looked_up_again(topics):
    pubsub = {**PUBSUB_TOPIC, "endpoint": topics.endpoint}
    topics.receiver.reply = lambda request: (
        confirm(request) if request.path == "/token" else google_error(401, "UNAUTHENTICATED")
    )
    assert send(PUBSUB, pubsub).result is Result.OUTAGE
    topics.receiver.reply = confirm
    assert send(PUBSUB, pubsub).result is Result.DELIVERED
    assert send(PUBSUB, pubsub).result is Result.DELIVERED
    assert [one.path for one in topics.receiver.received].count("/token") == 2


def test_a_relay_without_an_identity_explains_that(monkeypatch, tmp_path):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    answer = send(SNS, {"topic_arn": TOPIC})
    assert (answer.result, answer.error[:38]) == (Result.OUTAGE, "The relay has no credentials of AWS. G")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    answer = send(PUBSUB, PUBSUB_TOPIC)
    assert (answer.result, answer.error[:40]) == (Result.OUTAGE, "The relay has no credentials of Google. ")


@pytest.mark.django_db(transaction=True)
def test_credentials_whose_look_up_hangs_delay_no_webhook(
    creator, make_sink, receiver, relays, topics, monkeypatch, tmp_path
):
    monkeypatch.setattr(ambient_identity, "WAIT_SECONDS", 0.5)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    program = f"{sys.executable} -c 'import time; time.sleep(8)'"
    (tmp_path / "config").write_text(f"[default]\ncredential_process = {program}\n")
    make_sink(filter={"types": ["thing.*"]})
    create_sink_of("sns", {"topic_arn": TOPIC, "endpoint": topics.endpoint})
    move(*(f"thing-{number}" for number in range(10)))
    dispatch_all()
    sns = Sink.objects.get(kind="sns")
    relays.until(lambda: Sink.objects.get(id=sns.id).progress.failures > 0)
    assert Sink.objects.get(id=sns.id).progress.last_error == (
        "The relay's credentials of AWS are still looked up."
    )
    assert len(receiver.received) == 10
