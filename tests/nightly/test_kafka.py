"""Events to a real Kafka: in order, and none lost while the broker is killed. KAFKA_JARS: its jars."""

from __future__ import annotations

import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from controlplane.access.models import Principal
from controlplane.delivery import kafka_sinks
from controlplane.delivery.models import Delivery, DeliveryState, Sink
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import create_sink
from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from tests.integration.controlplane.delivery import conftest as delivery
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.support.guide_programs import run_program
from tests.support.kafka_broker import Broker, kafka_jars
from tests.support.relay_processes import RelayProcess
from tests.support.waiting import until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not shutil.which("java") or not shutil.which("mvn"), reason="Needs Java, Maven."),
]
receiver, creator, _settings, relays = (
    delivery.receiver,
    delivery.creator,
    delivery._settings,
    delivery.relays,
)
EVENTS = 20_000
PASSWORD = "for-a-test"


@pytest.fixture(scope="session")
def jars(tmp_path_factory) -> Path:
    return kafka_jars(tmp_path_factory.mktemp("kafka-jars"))


@pytest.fixture
def broker(jars, tmp_path) -> Iterator[Broker]:
    broker = Broker(tmp_path / "broker", jars)
    broker.start()
    yield broker
    broker.remove()


def _sink(creator: Principal, broker: Broker, **config: object) -> Sink:
    settings = {"topic": "cp-events", "brokers": [broker.address], "create_topic": True, **config}
    password = {"password": PASSWORD} if "user" in config else None
    terms = SinkTerms(
        "bus", settings, kind="kafka", filter={"types": ["thing.*"]}, per_second=1000, max_in_flight=64,
        credentials=password,
    )  # fmt: skip
    return create_sink(terms, team=None, actor=Actor(creator.id, creator.name))[0]


def _read(broker: Broker, **options: str) -> list[tuple[str, str, str]]:
    """Return id, key and `to` of all messages, in the topic's order."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "test",
            "enable.partition.eof": True,
            **options,
        }
    )
    # Without a group, which takes a new broker half a minute.
    consumer.assign([TopicPartition("cp-events", 0, OFFSET_BEGINNING)])
    messages, at_end = [], False
    deadline = time.monotonic() + 60
    while not at_end:
        assert time.monotonic() < deadline, f"{len(messages)} messages, and no end"
        for message in consumer.consume(1000, timeout=1):
            if message.error():
                at_end = True
                continue
            headers = {name: value.decode() for name, value in message.headers()}
            messages.append((headers["ce_id"], message.key().decode(), message.value().decode()))
    consumer.close()
    return messages


def test_20_000_events_survive_a_broker_that_is_killed_and_stay_in_order(creator, broker, tmp_path):
    _sink(creator, broker)
    run = RelayProcess(tmp_path / "relay.log", only="events,deliveries")
    writer = threading.Thread(target=_write)
    writer.start()
    until(lambda: _delivered() > EVENTS // 10, 120, lambda: run.output)
    broker.kill()
    broker.start()
    writer.join()
    until(lambda: _delivered() == EVENTS, 580, lambda: (_delivered(), run.output[-2000:]))
    assert run.stop() == 0
    messages = _read(broker)
    assert {event_id for event_id, _, _ in messages} == {
        str(event_id) for event_id in Event.objects.filter(type="thing.moved").values_list("id", flat=True)
    }
    print(f"\n{len(messages) - EVENTS} of {EVENTS} came twice")
    _check_order(messages)


def _write() -> None:
    for step in range(EVENTS // 1000):
        move(*(f"thing-{index}" for index in range(1000)), to=f"{step:05d}")
    connection.close()


def _delivered() -> int:
    return Delivery.objects.filter(state=DeliveryState.DELIVERED).count()


def _check_order(messages: list[tuple[str, str, str]]) -> None:
    values = defaultdict(list)
    for _, key, value in messages:
        values[key].append(value)
    for key, of_key in values.items():
        assert of_key == sorted(of_key), key


def test_the_consumer_of_the_guide_reads_events(creator, broker, relays):
    _sink(creator, broker)
    move("a", to="somewhere")
    dispatch_all()
    relays.until(lambda: _delivered() == 1)
    output = run_program("consume_kafka.py", BROKERS=broker.address, TOPIC="cp-events")
    assert output.startswith("dev.controlplane.thing.moved.v1 thing/a {")


def test_a_topic_that_is_missing_disables_the_sink(creator, broker, relays):
    sink = _sink(creator, broker, create_topic=False)
    move("a")
    dispatch_all()
    relays.until(lambda: Sink.objects.get(id=sink.id).state == "disabled")
    assert Sink.objects.get(id=sink.id).reason == "topic_missing"
    assert Delivery.objects.get().last_error == "Kafka has no topic cp-events."


def test_a_user_with_a_password(creator, jars, tmp_path, relays):
    broker = Broker(tmp_path / "secured", jars, password=PASSWORD)
    broker.start()
    try:
        login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "user": "cp"}
        _sink(creator, broker, **login)
        move("a")
        dispatch_all()
        relays.until(lambda: _delivered() == 1)
        options = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "cp",
            "sasl.password": PASSWORD,
        }
        assert [key for _, key, _ in _read(broker, **options)] == ["thing/a"]
    finally:
        broker.remove()


def test_a_password_that_is_refused_is_named_and_not_shown(creator, jars, tmp_path, relays, monkeypatch):
    monkeypatch.setattr(kafka_sinks, "DELIVERY_SECONDS", 10)
    broker = Broker(tmp_path / "secured", jars, password="another-one")
    broker.start()
    try:
        login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "user": "cp"}
        sink = _sink(creator, broker, create_topic=False, **login)
        move("a")
        dispatch_all()
        relays.until(lambda: Sink.objects.get(id=sink.id).progress.failures > 0)
        error = Sink.objects.get(id=sink.id).progress.last_error
        assert "Authentication failed" in error
        assert PASSWORD not in error
        assert list(Delivery.objects.values_list("state", "attempt")) == [("waiting", 0)]
    finally:
        broker.remove()
