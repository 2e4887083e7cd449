"""Relays that are killed between any two steps: every event arrives, in the order of its object."""

from __future__ import annotations

import signal
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.db.models.functions import Now

from controlplane.delivery.models import Delivery, DeliveryState, Lane
from controlplane.events.models import Event
from tests.integration.controlplane.delivery.conftest import move
from tests.support.relay_processes import RelayProcess
from tests.support.waiting import until
from tests.support.webhook_receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)
# All events of a step are one batch for the dispatcher, and several for the relay.
ALL_POINTS = (
    *("events read", "deliveries queued", "cursors moved", "claimed", "claimed:3", "sent", "sent:7"),
    *("lanes locked", "lanes locked:2", "deliveries settled", "deliveries settled:2", "lanes released:2"),
)
_USUAL_POINTS = ("deliveries queued", "sent:7", "deliveries settled")


def test_nothing_is_missed_and_nothing_overtakes(make_sink, receiver, tmp_path):
    make_sink(filter={"types": ["thing.*"]}, max_in_flight=64)
    kill_relays_at(_USUAL_POINTS, receiver, tmp_path, things=10, steps=6)


def kill_relays_at(
    points: Sequence[str], receiver: Receiver, folder: Path, *, things: int, steps: int
) -> None:
    """Kill a relay at each point, while so many things move so many times; check what arrived."""
    for number, point in enumerate(points):
        for step in range(steps):
            move(*(f"thing-{index}" for index in range(things)), to=str(steps * number + step))
        run = RelayProcess(folder / "relay.log", only="events,deliveries", FAILPOINT=point)
        assert run.wait(60) == -signal.SIGKILL, (point, run.output)
        _end_leases(receiver)
    last = RelayProcess(folder / "relay.log", only="events,deliveries")
    total = things * steps * len(points)
    until(lambda: _delivered() == total, 600, lambda: (last.output, list(Lane.objects.values()[:10])))
    assert last.stop() == 0, last.output
    assert set(receiver.ids) == {str(row.id) for row in Event.objects.filter(type="thing.moved")}
    assert len(set(receiver.ids)) == total
    check_order(receiver)


def _end_leases(receiver: Receiver) -> None:
    """Have the leases of a killed relay end, once the requests that it had sent were read."""
    number = -1
    while number != (number := len(receiver.received)):
        time.sleep(0.3)
    Lane.objects.filter(leased_until__isnull=False).update(leased_until=Now())


def _delivered() -> int:
    return Delivery.objects.filter(state=DeliveryState.DELIVERED).count()


def check_order(receiver: Receiver) -> None:
    """Of each object, what came again was the last that had come, and all else came in order."""
    sequences = defaultdict(list)
    for one in receiver.received:
        sequences[one.event["subject"]].append(int(one.event["data"]["to"]))
    for subject, numbers in sequences.items():
        assert numbers == sorted(numbers), (subject, numbers)
