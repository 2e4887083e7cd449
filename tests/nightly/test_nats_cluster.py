"""A NATS cluster of three whose leader is killed again and again: every event is stored, in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from django.db import connection as database

from controlplane.delivery.models import Delivery, DeliveryState
from controlplane.delivery.nats_sinks import EVENTS_STREAM
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import create_sink
from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_api import missing_replicas
from controlplane.messaging.nats_types import ConsumerSpec, NatsUnavailable, Received
from tests.integration.controlplane.delivery import conftest as delivery
from tests.integration.controlplane.delivery.conftest import move
from tests.support.nats_cluster import NatsCluster, leader_of
from tests.support.relay_processes import relays
from tests.support.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
creator, _settings = delivery.creator, delivery._settings
_EVENTS, _THINGS, _KILLS = 2000, 20, 5


@pytest.fixture
def cluster(tmp_path) -> Iterator[NatsCluster]:
    cluster = NatsCluster(tmp_path / "nats")
    cluster.start()
    yield cluster
    cluster.stop()


def test_killed_leaders_lose_no_event_and_change_no_order(creator, cluster, tmp_path):
    terms = SinkTerms("bus", {}, kind="nats", filter={"types": ["thing.*"]}, per_second=1000)
    create_sink(terms, team=None, actor=Actor(creator.id, creator.name))
    writer = threading.Thread(target=_write)
    changed = {"only": "events,deliveries", "NATS_URL": cluster.url, "NATS_REPLICAS": 3}
    with relays(2, tmp_path, **changed), NatsConnection(cluster.url, name="test") as nats:
        writer.start()
        gaps = [_kill_leader(cluster, nats) for _ in range(_KILLS)]
        writer.join()
        until(lambda: _delivered() == _EVENTS, 120)
        until(lambda: _missing_copies(nats) == 0, 60)
        stored = _stored(nats)
    ids = [one.headers["ce-id"] for one in stored]
    written = set(map(str, Event.objects.filter(type="thing.moved").values_list("id", flat=True)))
    print(
        f"\n{_KILLS} leaders killed, acknowledged {_EVENTS}, lost {len(written - set(ids))}"
        f", twice {len(ids) - len(set(ids))}, gaps until the next event was stored {gaps} s"
    )
    assert len(ids) == len(set(ids)) == _EVENTS
    assert set(ids) == written
    for number in range(_THINGS):
        of_one = [int(one.headers["ce-cpseq"]) for one in stored if _is_of(one, number)]
        assert of_one == sorted(of_one)


def _write() -> None:
    for number in range(_EVENTS):
        move(f"thing-{number % _THINGS}", to=str(number))
        time.sleep(0.02)
    database.close()


def _kill_leader(cluster: NatsCluster, nats: NatsConnection) -> float:
    """Kill the stream's leader; return the seconds until the next event was delivered."""
    leader = until(lambda: leader_of(nats, EVENTS_STREAM.name), 60)
    cluster.kill(leader)
    began, delivered = time.monotonic(), _delivered()
    until(lambda: _delivered() > delivered, 60)
    gap = round(time.monotonic() - began, 1)
    until(lambda: _missing_copies(nats) == 1, 60)
    cluster.restart(leader)
    return gap


def _missing_copies(nats: NatsConnection) -> int | None:
    """Return None while nobody answers: servers elect who does."""
    with suppress(NatsUnavailable):
        return missing_replicas(nats._api(f"STREAM.INFO.{EVENTS_STREAM.name}"))
    return None


def _delivered() -> int:
    return Delivery.objects.filter(state=DeliveryState.DELIVERED).count()


def _stored(nats: NatsConnection) -> list[Received]:
    stored: list[Received] = []
    while part := nats.fetch(ConsumerSpec(EVENTS_STREAM.name, "test"), limit=500, seconds=5):
        for one in part:
            one.ack()
        stored += part
    return stored


def _is_of(one: Received, number: int) -> bool:
    return one.headers["ce-subject"] == f"thing/thing-{number}"
