"""Events to Kafka, as far as that needs no broker; `tests/nightly/test_kafka.py` has a real one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from controlplane.access.teams.teams import create_team
from controlplane.delivery import kafka_sinks
from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.kafka_sinks import KAFKA, content_of, options_of
from controlplane.delivery.kinds import Message, SinkSecrets
from controlplane.delivery.models import Delivery, Sink
from controlplane.delivery.schedule import Result
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import create_sink
from controlplane.errors import InvalidRequest
from controlplane.identity.actors import Actor
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.unit.controlplane.delivery.events import logged_event

BROKERS = {"topic": "events", "brokers": ["127.0.0.1:1"]}


def test_an_event_is_in_binary_mode_with_its_ordering_key():
    event = logged_event(object_id="größe")
    content = content_of(
        Message(event, Origin("https://cp.example.com"), "agent/größe", event.at, is_replay=True)
    )
    assert content.key == "agent/größe"
    assert content.headers["content-type"] == "application/json"
    assert content.headers["ce_id"] == str(event.id)
    assert content.headers["ce_partitionkey"] == "agent/größe"
    assert content.headers["cp_replay"] == "true"


@pytest.mark.parametrize(
    ("config", "credentials", "pointer"),
    [
        ({"topic": "events"}, {}, "/config/brokers"),
        ({"brokers": ["127.0.0.1:9092"]}, {}, "/config/topic"),
        ({**BROKERS, "url": "x"}, {}, "/config/url"),
        ({**BROKERS, "brokers": ["169.254.169.254:9092"]}, {}, "/config/brokers/0"),
        ({**BROKERS, "brokers": ["127.0.0.1:1/x"]}, {}, "/config/brokers/0"),
        ({**BROKERS, "user": "ann"}, {}, "/config/user"),
        (BROKERS, {"secret": "x"}, "/credentials/secret"),
    ],
)
def test_settings_with_which_nothing_could_be_sent_are_refused(config, credentials, pointer):
    with pytest.raises(InvalidRequest) as refused:
        KAFKA.check(config, credentials)
    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_a_user_needs_encryption_unless_the_settings_say_otherwise():
    options = options_of({**BROKERS, "user": "ann"}, {"password": "secret"})
    assert (options["security.protocol"], options["sasl.mechanism"]) == ("SASL_SSL", "SCRAM-SHA-512")


def test_a_topic_that_cannot_be_created_yet_is_an_outage_for_all_senders(monkeypatch):
    monkeypatch.setattr(kafka_sinks, "CREATION_SECONDS", 0.1)
    sender = KAFKA.open({**BROKERS, "create_topic": True}, SinkSecrets())
    event = logged_event()
    message = Message(event, Origin("https://cp.example.com"), "agent/a", event.at)
    with ThreadPoolExecutor(4) as threads:
        answers = [sent.answer for sent in threads.map(sender.send, [message] * 4)]
    sender.close()
    assert {answer.result for answer in answers} == {Result.OUTAGE}
    # Whoever waits for another thread's creation waits for one, not for all before.
    assert "The topic events is not created yet." in [answer.error for answer in answers]


@pytest.mark.django_db(transaction=True)
def test_a_team_has_no_sink_of_kafka(creator):
    actor = Actor(creator.id, creator.name)
    terms = SinkTerms("bus", BROKERS, kind="kafka")
    with pytest.raises(InvalidRequest, match="Only the platform"):
        create_sink(terms, team=create_team("eu", actor=actor), actor=actor)
    assert not Sink.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_away_is_looked_at_again_and_delays_no_webhook(
    creator, make_sink, receiver, relays, monkeypatch
):
    monkeypatch.setattr(kafka_sinks, "DELIVERY_SECONDS", 1)
    make_sink(filter={"types": ["thing.*"]})
    terms = SinkTerms("bus", BROKERS, kind="kafka", filter={"types": ["thing.*"]})
    bus, _ = create_sink(terms, team=None, actor=Actor(creator.id, creator.name))
    move("a", "b")
    dispatch_all()
    relays.until(lambda: Sink.objects.get(id=bus.id).progress.failures > 0)
    assert len(receiver.received) == 2
    waiting = Delivery.objects.filter(sink=bus)
    assert set(waiting.values_list("state", "attempt")) == {("waiting", 0)}
    assert "Kafka cannot be reached" in Sink.objects.get(id=bus.id).progress.last_error
