"""Events to SNS, read at SQS as AWS' own client does. MOTO_SERVER: path of moto's server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.access.models import Principal
from controlplane.delivery import sns_sinks
from controlplane.delivery.ambient_identity import AmbientIdentity
from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.kinds import Message, SinkSecrets
from controlplane.delivery.models import Delivery, Sink
from controlplane.delivery.replays import replay_batch, start_replay
from controlplane.delivery.schedule import Result
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import create_sink
from controlplane.delivery.sns_sinks import SNS
from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from tests.integration.controlplane.delivery import conftest as delivery
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.support.guide_programs import run_program
from tests.support.moto import MOTO_SERVER, REGION, Moto, running_moto
from tests.unit.controlplane.delivery.events import logged_event

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not MOTO_SERVER, reason="Needs MOTO_SERVER, the path of moto's server."),
]
creator, _settings, relays = delivery.creator, delivery._settings, delivery.relays
FIFO = {"FifoTopic": "true"}


@pytest.fixture(scope="module")
def moto(tmp_path_factory) -> Iterator[Moto]:
    with running_moto(tmp_path_factory.mktemp("moto") / "log") as moto:
        yield moto


@pytest.fixture(autouse=True)
def _identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setattr(sns_sinks, "AWS_IDENTITY", AmbientIdentity("AWS", sns_sinks._look_up))


def _sink(creator: Principal, moto: Moto, topic: str) -> Sink:
    config = {"topic_arn": topic, "endpoint": moto.endpoint}
    terms = SinkTerms("bus", config, kind="sns", filter={"types": ["thing.*"]}, per_second=1000)
    return create_sink(terms, team=None, actor=Actor(creator.id, creator.name))[0]


def test_events_arrive_whole_with_their_attributes(creator, moto, relays):
    topic, queue = moto.topic_with_queue("plain")
    _sink(creator, moto, topic)
    move(*(f"größe-{number}" for number in range(20)), to="naïve & <b>")
    dispatch_all()
    relays.until_settled()
    messages = moto.messages(queue)
    events = [json.loads(message["Body"]) for message in messages]
    logged = Event.objects.filter(type="thing.moved").values_list("id", flat=True)
    assert {event["id"] for event in events} == {str(event_id) for event_id in logged}
    assert {event["data"]["to"] for event in events} == {"naïve & <b>"}
    for message, event in zip(messages, events, strict=True):
        attributes = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
        assert attributes == {"ce-id": event["id"], "ce-type": "dev.controlplane.thing.moved.v1"}


def test_a_fifo_topic_keeps_the_order_and_does_not_drop_a_replay(creator, moto, relays):
    topic, queue = moto.topic_with_queue("ordered.fifo", **FIFO)
    sink = _sink(creator, moto, topic)
    for step in range(20):
        move("a", "b", to=f"{step:02d}")
    dispatch_all()
    relays.until_settled()
    messages = moto.messages(queue)
    for thing in ("a", "b"):
        of_thing = [one for one in messages if one["Attributes"]["MessageGroupId"] == f"thing/{thing}"]
        steps = [json.loads(one["Body"])["data"]["to"] for one in of_thing]
        assert steps == [f"{step:02d}" for step in range(20)]

    actor = Actor(creator.id, creator.name)
    start_replay(sink, after=sink.cursor_seq, until=None, types=["thing.moved"], actor=actor)
    while replay_batch():
        pass
    relays.until(lambda: Delivery.objects.filter(state="delivered").count() == 80)
    replayed = moto.messages(queue)
    assert len({*_deduplication_ids(messages), *_deduplication_ids(replayed)}) == 80
    assert {json.loads(one["Body"])["id"] for one in replayed} == {
        json.loads(one["Body"])["id"] for one in messages
    }


def _deduplication_ids(messages: list[dict[str, Any]]) -> list[str]:
    return [message["Attributes"]["MessageDeduplicationId"] for message in messages]


def test_an_event_that_is_sent_twice_has_one_deduplication_id(moto):
    topic, queue = moto.topic_with_queue("once.fifo", **FIFO)
    sender = SNS.open({"topic_arn": topic, "endpoint": moto.endpoint}, SinkSecrets())
    event = logged_event()
    message = Message(event, Origin("https://cp.example.com"), event.object_key, event.at)
    answers = [sender.send(message).answer for _ in range(2)]
    assert [answer.result for answer in answers] == [Result.DELIVERED] * 2
    # By which AWS drops the second; moto keeps both.
    assert _deduplication_ids(moto.messages(queue)) == [str(event.id)] * 2


def test_a_topic_that_is_missing_disables_the_sink(creator, moto, relays):
    sink = _sink(creator, moto, f"arn:aws:sns:{REGION}:123456789012:missing")
    move("a")
    dispatch_all()
    relays.until(lambda: Sink.objects.get(id=sink.id).state == "disabled")
    assert Sink.objects.get(id=sink.id).reason == "topic_missing"


def test_the_consumer_of_the_guide_reads_events(creator, moto, relays):
    topic, queue = moto.topic_with_queue("guide")
    _sink(creator, moto, topic)
    move("a", to="somewhere")
    dispatch_all()
    relays.until_settled()
    environment = {"AWS_ENDPOINT_URL_SQS": moto.endpoint, "AWS_DEFAULT_REGION": REGION}
    login = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    # Moto's own Python has AWS' client.
    python = str(Path(MOTO_SERVER).parent / "python")
    output = run_program("consume_sns.py", python, QUEUE_URL=queue, **environment, **login)
    assert output.startswith("dev.controlplane.thing.moved.v1 thing/a {")
