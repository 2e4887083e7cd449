"""Events out at full counts: killed relays, reverse commits, receivers that hang, a replay beside."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from django.db import connection, transaction

from controlplane.delivery.models import Delivery, DeliveryState, Replay
from controlplane.delivery.replays import start_replay
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.identity.actors import system
from tests.integration.controlplane.delivery import conftest as delivery
from tests.integration.controlplane.delivery.conftest import THING_MOVED, move
from tests.integration.controlplane.delivery.test_crashes import ALL_POINTS, check_order, kill_relays_at
from tests.support.relay_processes import RelayProcess, relays
from tests.support.waiting import until
from tests.support.webhook_receiver import Receiver, Reply, running_receiver

pytestmark = pytest.mark.django_db(transaction=True)
receiver, creator, make_sink, _settings = (
    delivery.receiver,
    delivery.creator,
    delivery.make_sink,
    delivery._settings,
)
_WRITERS = 4


def test_relays_killed_between_any_two_steps_lose_none_of_50_000_events(make_sink, receiver, tmp_path):
    make_sink(filter={"types": ["thing.*"]}, max_in_flight=64)
    kill_relays_at(ALL_POINTS, receiver, tmp_path, things=417, steps=10)


def test_three_relays_and_writers_that_commit_in_reverse(make_sink, receiver, tmp_path):
    make_sink(filter={"types": ["thing.*"]}, max_in_flight=64)
    with relays(3, tmp_path, only="events,deliveries"):
        for number in range(200):
            _commit_in_reverse(number)
        until(lambda: len(set(receiver.ids)) == 200 * _WRITERS, 120)
    check_order(receiver)


def _commit_in_reverse(number: int) -> None:
    """Insert one event in each of several open transactions, and commit the last one first."""
    inserted = [threading.Event() for _ in range(_WRITERS)]
    allowed = [threading.Event() for _ in range(_WRITERS)]

    def write(place: int) -> None:
        with transaction.atomic():
            log.append(THING_MOVED, "thing", f"thing-{place}", data={"to": str(number)}, actor="test")
            inserted[place].set()
            allowed[place].wait(10)
        connection.close()

    writers = [threading.Thread(target=write, args=(place,)) for place in range(_WRITERS)]
    for place, writer in enumerate(writers):
        writer.start()
        inserted[place].wait(10)
    for place in reversed(range(_WRITERS)):
        allowed[place].set()
        writers[place].join()


def test_receivers_that_hang_delay_the_others_by_less_than_five_seconds(make_sink, receiver, tmp_path):
    with running_receiver() as hanging:
        hanging.reply = lambda request: Reply(hang=60)
        for number in range(10):
            make_sink(f"good-{number}", filter={"types": ["thing.*"]})
            make_sink(f"bad-{number}", url=hanging.url, filter={"types": ["thing.*"]})
        lags = _lags(receiver, tmp_path, sinks=10)
        print(f"\nlag p50 {lags[len(lags) // 2]:.3f} s, p99 {lags[len(lags) * 99 // 100]:.3f} s")
        assert lags[len(lags) * 99 // 100] <= 5


def test_a_replay_of_10_000_events_beside_live_traffic(make_sink, receiver, tmp_path):
    sink = make_sink(filter={"types": ["thing.*"]}, max_in_flight=16)
    before = log.last_number()
    for part in range(10):
        move(*(f"thing-{index}" for index in range(1000)), to=str(part))
    alone = make_sink("live", filter={"types": ["thing.*"], "expression": "data.to = 'live'"})
    start_replay(sink, after=before, until=None, types=[], actor=system("test"))
    sink.cursor_seq = log.last_number()
    sink.save(update_fields=["cursor_seq"])
    assert alone.cursor_seq <= sink.cursor_seq
    lags = _lags(receiver, tmp_path, sinks=2)
    print(f"\nlag beside a replay p50 {lags[len(lags) // 2]:.3f} s, p99 {lags[len(lags) * 99 // 100]:.3f} s")
    assert lags[len(lags) // 2] <= 2
    replayed = [one for one in receiver.received if "webhook-replay" in one.headers]
    of_first = [one.event["data"]["to"] for one in replayed if one.event["subject"] == "thing/thing-0"]
    assert of_first == [str(part) for part in range(10)]
    assert len({one.id for one in replayed}) == 10_000


def _lags(receiver: Receiver, folder: Path, *, sinks: int) -> list[float]:
    """Return the sorted seconds from commit to receipt of 200 events, ten a second; wait for replays."""
    run = RelayProcess(folder / "relay.log", only="events,deliveries")
    for number in range(200):
        move(f"live-{number}", to="live")
        time.sleep(0.1)
    until(lambda: len(_live(receiver)) >= 200 * sinks, 120)
    until(lambda: not Replay.objects.filter(ended_at=None).exists(), 300)
    until(lambda: not Delivery.objects.filter(replay__gt=0, state=DeliveryState.WAITING).exists(), 300)
    run.kill()
    committed = {str(event.id): event.at.timestamp() for event in Event.objects.filter(type="thing.moved")}
    return sorted(one.at - committed[one.id] for one in _live(receiver))


def _live(receiver: Receiver) -> list:
    return [one for one in receiver.received if one.event["data"]["to"] == "live"]
