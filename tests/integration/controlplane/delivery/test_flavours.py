"""Sinks that get Flyte's own messages."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from flyteidl.admin import event_pb2
from standardwebhooks.webhooks import Webhook

from controlplane.delivery.deliveries import send_test
from controlplane.delivery.models import Delivery
from controlplane.delivery.nats_sinks import EVENTS_STREAM
from controlplane.delivery.replays import replay_batch, start_replay
from controlplane.delivery.signing import new_secret
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import create_sink
from controlplane.events.models import Event
from controlplane.identity.actors import Actor, system
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ConsumerSpec
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.support.api_client import token_for
from tests.support.flyte_events import PROTOBUF, node_event, path_of, workflow_event
from tests.support.flyte_messages import FlyteHttp
from tests.support.nats_server import OwnNats

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def report(settings: Any) -> Any:
    """Send an event as Flyte's engine does."""
    settings.FLYTE_EVENTS = "store"
    flyte_http = FlyteHttp(token_for("admin"))

    def send(request: Any) -> None:
        body = request.SerializeToString()
        answer = flyte_http("POST", path_of(request), body, sends=PROTOBUF)
        assert answer.status_code == 200, answer.content

    return send


def test_each_sink_gets_events_in_its_own_flavour_and_in_order(make_sink, receiver, relays, report):
    secret = new_secret()
    make_sink("native", filter={"types": ["flyte.*", "thing.*"]})
    make_sink("version-1", flavour="flyte-v1", secret=secret)
    events = [workflow_event("RUNNING"), node_event("RUNNING"), workflow_event("SUCCEEDED")]
    for event in events:
        report(event)
    move("a")
    dispatch_all()
    relays.until_settled()

    documents = [request.event for request in receiver.received]
    native = [document for document in documents if document["type"].startswith("dev.controlplane.")]
    foreign = [document for document in documents if document not in native]
    # `thing.moved` reaches the native sink alone.
    assert (len(native), len(foreign)) == (4, 3)
    assert [document["type"].rpartition(".")[2] for document in foreign] == [
        "WorkflowExecutionEventRequest",
        "NodeExecutionEventRequest",
        "WorkflowExecutionEventRequest",
    ]
    data = [json.loads(base64.b64decode(document["data_base64"])) for document in foreign]
    assert [one["event"]["phase"] for one in data] == ["RUNNING", "RUNNING", "SUCCEEDED"]
    logged = Event.objects.filter(type__startswith="flyte.").order_by("seq").values_list("id", flat=True)
    assert [document["cpid"] for document in foreign] == [str(event_id) for event_id in logged]
    signed = next(request for request in receiver.received if request.event == foreign[0])
    Webhook(secret).verify(signed.body, signed.headers)
    assert signed.id == foreign[0]["cpid"]


def test_at_nats_they_are_structured_json_on_one_subject(creator, relays, report, settings, tmp_path):
    server = OwnNats(tmp_path / "nats")
    server.start()
    settings.NATS_URL = server.url
    terms = SinkTerms("bus", {}, kind="nats", flavour="flyte-v1", per_second=1000)
    create_sink(terms, team=None, actor=Actor(creator.id, creator.name))
    try:
        report(workflow_event("RUNNING"))
        dispatch_all()
        relays.until_settled()
        with NatsConnection(server.url, name="consumer") as connection:
            assert connection.wait_connected(10)
            (stored,) = connection.fetch(ConsumerSpec(EVENTS_STREAM.name, "test"), limit=9, seconds=5)
    finally:
        server.stop()

    assert stored.subject == "cp.events.flyte"
    event = json.loads(stored.body)
    assert event["type"] == "com.flyte.resource.flyteidl.admin.WorkflowExecutionEventRequest"
    assert stored.headers["Nats-Msg-Id"] == f"{event['cpid']}-flyte-v1"
    assert not any(name.startswith("ce-") for name in stored.headers)


def test_plain_messages_are_what_the_engine_sent(make_sink, receiver, relays, report):
    make_sink(flavour="flyte-external")
    event = node_event("RUNNING")
    report(event)
    dispatch_all()
    relays.until_settled()

    (request,) = receiver.received
    kind = request.headers["content-type"]
    assert kind == 'application/x-protobuf; messageType="flyteidl.admin.NodeExecutionEventRequest"'
    assert event_pb2.NodeExecutionEventRequest.FromString(request.body) == event


def test_a_replay_has_the_flavour_and_no_other_events(make_sink, receiver, relays, report):
    report(workflow_event("RUNNING"))
    move("a")
    dispatch_all()
    sink = make_sink(flavour="flyte-v2")
    start_replay(sink, after=0, until=None, types=[], actor=system("tests"))
    while replay_batch():
        pass
    relays.until_settled()

    (request,) = receiver.received
    assert request.event["source"] == "e1/end-node"
    assert request.headers["webhook-replay"] == "true"
    assert Delivery.objects.count() == 1


@pytest.mark.parametrize("flavour", ["flyte-v1", "flyte-v2", "flyte-docs", "flyte-external"])
def test_a_test_sends_an_example_in_the_flavour(make_sink, receiver, flavour):
    sink = make_sink(flavour=flavour)

    assert send_test(sink).answer.status == 200
    assert b"controlplane" in receiver.received[0].body or flavour != "flyte-external"
