"""What a sink of Kafka cannot send, and what that must not stop. Without a broker."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from controlplane.delivery import kafka_sinks
from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.kafka_producer import Silent
from controlplane.delivery.kafka_sinks import KAFKA
from controlplane.delivery.kinds import Message, SinkSecrets
from controlplane.delivery.models import Sink
from controlplane.delivery.schedule import Result
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import create_sink
from controlplane.errors import InvalidRequest, RemoteFailed
from controlplane.identity.actors import Actor
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.unit.controlplane.delivery.events import logged_event

BROKERS = {"topic": "events", "brokers": ["127.0.0.1:1"]}
SECRETS = SinkSecrets()


def _message(**data: object) -> Message:
    event = replace(logged_event(), data=data)
    return Message(event, Origin("https://cp.example.com"), event.object_key, event.at)


@pytest.fixture
def opened():
    """Return a function that opens a sender, which is closed at the end."""
    senders = []

    def open_sender(**config: object):
        senders.append(KAFKA.open({**BROKERS, **config}, SECRETS))
        return senders[-1]

    yield open_sender
    for sender in senders:
        sender.close()


@pytest.mark.parametrize(
    "broker", ["127.0.0.1#,169.254.169.254:80", "127.0.0.1:9092#x", "127.0.0.1/", "a\tb"]
)
def test_a_broker_is_a_host_and_a_port_alone(broker):
    with pytest.raises(InvalidRequest, match="host:9092") as refused:
        KAFKA.check({**BROKERS, "brokers": [broker]}, {})
    assert [error.pointer for error in refused.value.errors] == ["/config/brokers/0"]


@pytest.mark.parametrize(
    ("setting", "value"), [("ca", "no certificate"), ("topic", "two words"), ("topic", "..")]
)
def test_settings_that_the_client_or_kafka_would_refuse_are_refused_at_once(setting, value):
    with pytest.raises(InvalidRequest) as refused:
        KAFKA.check({**BROKERS, setting: value}, {})
    assert [error.pointer for error in refused.value.errors] == [f"/config/{setting}"]


def test_an_event_that_is_too_large_is_no_outage(opened):
    answer = opened().send(_message(text="x" * 1_100_000)).answer
    assert answer.result is Result.CLIENT_ERROR
    assert "too large" in answer.error


def test_a_name_that_does_not_resolve_is_an_outage(opened, monkeypatch):
    def fail(*_: object) -> None:
        raise RemoteFailed("The host name cannot be resolved.")

    monkeypatch.setattr(kafka_sinks, "check_target", fail)
    assert opened().send(_message()).answer.result is Result.OUTAGE


def test_a_broker_that_moves_to_a_private_address_is_refused(opened, settings):
    sender = opened()
    settings.OUTGOING_ALLOWED_NETWORKS = []
    assert sender.send(_message()).answer.result is Result.ADDRESS_REFUSED


def test_a_client_that_stores_nothing_any_more_is_replaced(opened, monkeypatch):
    from confluent_kafka import KafkaError, KafkaException

    class Spent:
        trouble = ""

        def __init__(self, options: object) -> None:
            made.append(self)

        def store(self, *_: object) -> None:
            raise KafkaException(KafkaError(KafkaError._FATAL, "The producer id is not known.", fatal=True))

        def close(self) -> None:
            closed.append(self)

    made, closed = [], []
    monkeypatch.setattr(kafka_sinks, "KafkaProducer", Spent)
    sender = opened()
    assert [sender.send(_message()).answer.result for _ in range(2)] == [Result.OUTAGE] * 2
    assert (len(made), closed) == (2, made)


def test_an_event_is_stored_as_a_consumer_reads_it(opened):
    from confluent_kafka import Consumer, Producer, TopicPartition

    # librdkafka's own broker, in this process.
    brokers = Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1}, logger=Silent())
    # A topic that is asked for is created.
    listed = brokers.list_topics("events", timeout=5).brokers.values()
    address = ",".join(f"{broker.host}:{broker.port}" for broker in listed)
    message = _message(to="größe")
    assert opened(brokers=[address]).send(message).answer.result is Result.DELIVERED
    consumer = Consumer({"bootstrap.servers": address, "group.id": "test"})
    consumer.assign([TopicPartition("events", number, 0) for number in range(4)])
    stored = consumer.poll(10)
    consumer.close()
    headers = dict(stored.headers())
    assert (stored.key(), stored.value()) == (message.key.encode(), '{"to":"größe"}'.encode())
    assert headers["ce_id"] == str(message.event.id).encode()


def test_closing_answers_who_waits(opened):
    sender = opened()
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(sender.send(_message()).answer))
    waiting.start()
    time.sleep(0.3)
    sender.close()
    waiting.join(10)
    assert [answer.result for answer in answers] == [Result.OUTAGE]
    assert sender.send(_message()).answer.result is Result.OUTAGE


@pytest.mark.django_db(transaction=True)
def test_a_sink_that_cannot_be_opened_stops_no_webhook(creator, make_sink, receiver, relays, monkeypatch):
    make_sink(filter={"types": ["thing.*"]})
    terms = SinkTerms("bus", BROKERS, kind="kafka", filter={"types": ["thing.*"]})
    bus, _ = create_sink(terms, team=None, actor=Actor(creator.id, creator.name))
    # As a client would find after an upgrade that knows a setting no more.
    Sink.objects.filter(id=bus.id).update(
        config={**BROKERS, "security_protocol": "SSL", "ca": "no certificate"}
    )
    move("a", "b")
    dispatch_all()
    relays.until(lambda: Sink.objects.get(id=bus.id).progress.failures > 0)
    assert len(receiver.received) == 2
