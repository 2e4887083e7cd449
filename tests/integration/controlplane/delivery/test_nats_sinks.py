"""Events to NATS JetStream: stored in order and once, also when the server was away or lost everything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db.models.functions import Now

from controlplane.access.models import Principal
from controlplane.access.teams.teams import create_team
from controlplane.delivery.kinds import SinkSecrets
from controlplane.delivery.models import Delivery, DeliveryAttempt, Lane, Sink
from controlplane.delivery.nats_sinks import EVENTS_STREAM, NATS, needed_streams, subject_of
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import change_sink, create_sink
from controlplane.errors import InvalidRequest
from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ConsumerSpec, Received
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.support.guide_programs import run_program
from tests.support.nats_server import OwnNats
from tests.unit.controlplane.delivery.events import logged_event

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def nats(tmp_path, settings) -> Iterator[OwnNats]:
    server = OwnNats(tmp_path / "nats")
    server.start()
    settings.NATS_URL = server.url
    yield server
    server.stop()


@pytest.fixture
def sink(creator: Principal, nats: OwnNats) -> Sink:
    terms = SinkTerms("bus", {}, kind="nats", filter={"types": ["thing.*"]}, per_second=1000)
    sink, secret = create_sink(terms, team=None, actor=Actor(creator.id, creator.name))
    assert secret == "", "NATS verifies no signatures."
    return sink


def _stored(nats: OwnNats) -> list[Received]:
    with NatsConnection(nats.url, name="consumer") as connection:
        assert connection.wait_connected(10)
        return connection.fetch(ConsumerSpec(EVENTS_STREAM.name, "test"), limit=100, seconds=5)


def test_events_are_stored_as_cloudevents_in_binary_mode(sink, nats, relays):
    move("a", "b/c", to="somewhere")
    dispatch_all()
    relays.until_settled()
    stored = _stored(nats)
    assert [one.subject for one in stored] == ["cp.events.platform.thing.moved"] * 2
    headers = stored[0].headers
    event = Event.objects.get(id=headers["ce-id"])
    assert headers["ce-id"] == headers["Nats-Msg-Id"] == str(event.id)
    assert headers["ce-type"] == "dev.controlplane.thing.moved.v1"
    assert headers["content-type"] == "application/json"
    assert json.loads(stored[0].body)["to"] == "somewhere"
    assert needed_streams() == [EVENTS_STREAM]


def test_an_event_that_was_stored_before_a_crash_is_not_stored_twice(sink, nats, relays):
    move("a")
    dispatch_all()
    relays.until_settled()
    # As if the relay had died between the acknowledgement and the settling.
    Delivery.objects.update(state="waiting", settled_at=None)
    Lane.objects.create(sink=sink, key="thing/a")
    relays.until_settled()
    assert Delivery.objects.get().state == "delivered"
    assert len(_stored(nats)) == 1


def test_nothing_is_lost_while_nats_is_away_and_it_goes_on_by_itself(sink, nats, relays):
    move("a", to="1")
    dispatch_all()
    relays.until_settled()
    nats.stop()
    move("a", to="2")
    move("b", to="3")
    dispatch_all()
    relays.until(lambda: Sink.objects.get().progress.failures > 0)
    assert Delivery.objects.filter(state="waiting").count() == 2
    assert "cannot be reached" in Sink.objects.get().progress.last_error
    assert not DeliveryAttempt.objects.filter(result="outage").exists(), "An outage is no attempt."

    # With an empty store: the stream is made again.
    nats.empty()
    nats.start()
    Lane.objects.update(next_at=Now())
    relays.until_settled()
    assert sorted(json.loads(one.body)["to"] for one in _stored(nats)) == ["2", "3"]
    assert Sink.objects.get().progress.failures == 0


@pytest.mark.parametrize(
    ("config", "credentials", "pointer"),
    [
        ({"url": "https://example.com"}, {}, "/config/url"),
        ({"subject": "a.>"}, {}, "/config/subject"),
        ({"subject": "dcm.agent.x"}, {}, "/config/subject"),
        ({"servers": ["nats://169.254.169.254:4222"]}, {}, "/config/servers/0"),
        ({"servers": ["redis://example.com"]}, {}, "/config/servers/0"),
        ({}, {"key": "x"}, "/credentials/key"),
    ],
)
def test_settings_with_which_nothing_could_be_sent_are_refused(config, credentials, pointer):
    with pytest.raises(InvalidRequest) as refused:
        NATS.check(config, credentials)
    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_events_go_to_the_servers_of_a_sink_too(creator, nats, relays, settings):
    settings.NATS_URL = "nats://127.0.0.1:1"
    with NatsConnection(nats.url, name="owner") as connection:
        assert connection.wait_connected(10)
        connection.ensure_stream(EVENTS_STREAM)
    config = {"servers": [nats.url], "subject": "cp.events.mirror"}
    terms = SinkTerms("mirror", config, kind="nats", filter={"types": ["thing.*"]})
    create_sink(terms, team=None, actor=Actor(creator.id, creator.name))
    move("a")
    dispatch_all()
    relays.until_settled()
    assert [one.subject for one in _stored(nats)] == ["cp.events.mirror.platform.thing.moved"]


def test_sinks_with_other_subjects_are_not_taken_for_duplicates(sink, creator, nats, relays):
    terms = SinkTerms("mirror", {"subject": "cp.events.mirror"}, kind="nats", filter={"types": ["thing.*"]})
    create_sink(terms, team=None, actor=Actor(creator.id, creator.name))
    move("a")
    dispatch_all()
    relays.until_settled()
    stored = _stored(nats)
    subjects = {"cp.events.platform.thing.moved", "cp.events.mirror.platform.thing.moved"}
    assert {one.subject for one in stored} == subjects
    assert len({one.headers["ce-id"] for one in stored}) == 1


def test_a_team_publishes_under_no_subject_of_another_team(creator):
    actor = Actor(creator.id, creator.name)
    team = create_team("eu", actor=actor)
    chosen = SinkTerms("bus", {"subject": "cp.events.us"}, kind="nats")
    with pytest.raises(InvalidRequest, match="Only the platform"):
        create_sink(chosen, team=team, actor=actor)
    sink, _ = create_sink(replace(chosen, config={}), team=team, actor=actor)
    with pytest.raises(InvalidRequest, match="Only the platform"):
        change_sink(sink, chosen, precondition=None, actor=actor)
    assert Sink.objects.get().config == {}


def test_a_team_named_platform_has_not_the_platforms_subjects():
    events = [logged_event(team=name) for name in ("", "platform", "platform-1")]
    tokens = [subject_of(event, "cp.events").split(".")[2] for event in events]
    assert tokens == ["platform", "platform_", "platform-1"]


def test_a_sender_without_a_server_gives_its_connection_back(settings):
    settings.NATS_URL = "nats://127.0.0.1:1"
    first, second = NATS.open({}, SinkSecrets()), NATS.open({}, SinkSecrets())
    assert first._connection is second._connection
    first.close()
    second.close()
    assert first._connection._open == {}


def test_the_consumer_of_the_guide_reads_events(sink, nats, relays):
    move("a", to="somewhere")
    dispatch_all()
    relays.until_settled()
    output = run_program("consume_nats.py", NATS_URL=nats.url)
    assert output.startswith("dev.controlplane.thing.moved.v1 thing/a {")
    assert "'to': 'somewhere'" in output
