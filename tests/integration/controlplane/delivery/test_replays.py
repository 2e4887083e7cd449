"""Events of the past, once more."""

from __future__ import annotations

import pytest
from django.db.models import Q

from controlplane.delivery.models import Delivery, Replay
from controlplane.delivery.replays import number_before, replay_batch, start_replay
from controlplane.errors import EventsGone
from controlplane.events import log
from controlplane.events.models import Compaction, Event
from controlplane.identity.actors import system
from tests.integration.controlplane.delivery.conftest import dispatch_all, move

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = system("test")


def replay_all() -> None:
    while replay_batch():
        pass


def test_a_replay_has_the_old_ids_in_order_and_is_marked(make_sink, receiver, relays):
    sink = make_sink(filter={"types": ["thing.*"]})
    before = log.last_number()
    for number in range(3):
        move("a", "b", to=str(number))
    dispatch_all()
    relays.until_settled()
    first, receiver.received = receiver.received, []
    start_replay(sink, after=before, until=None, types=[], actor=ACTOR)
    replay_all()
    relays.until_settled()

    assert sorted(one.id for one in first) == sorted(receiver.ids)
    assert {one.headers["webhook-replay"] for one in receiver.received} == {"true"}
    assert "webhook-replay" not in first[0].headers
    of_a = [one.event["data"]["to"] for one in receiver.received if one.event["subject"] == "thing/a"]
    assert of_a == ["0", "1", "2"]
    assert Replay.objects.get().ended_at is not None


def test_a_replay_keeps_to_its_range_its_types_and_the_filter_of_the_sink(make_sink):
    sink = make_sink(filter={"types": ["thing.*"], "expression": "data.to = 'x'"})
    move("a")
    start = log.last_number()
    move("b", "c")
    move("d", to="y")
    end = log.last_number()
    move("e")
    start_replay(sink, after=start, until=end, types=["thing.moved"], actor=ACTOR)
    start_replay(sink, after=start, until=end, types=["agent.*"], actor=ACTOR)
    replay_all()
    assert list(Delivery.objects.order_by("seq").values_list("key", flat=True)) == ["thing/b", "thing/c"]


def test_live_events_are_sent_before_replayed_ones(make_sink, receiver, relays):
    sink = make_sink(filter={"types": ["thing.*"]}, max_in_flight=1)
    before = log.last_number()
    move("a", "b", "c", to="old")
    dispatch_all()
    relays.until_settled()
    receiver.received.clear()
    start_replay(sink, after=before, until=None, types=[], actor=ACTOR)
    replay_all()
    move("d", to="live")
    dispatch_all()
    relays.until_settled()
    assert [one.event["data"]["to"] for one in receiver.received] == ["live", "old", "old", "old"]


def test_a_time_is_the_number_before_its_first_event():
    move("a")
    last = log.last_number()
    move("b")
    log.number_committed()
    at = Event.objects.get(object_id="b").at
    assert number_before(Q(at__gte=at)) == last
    assert number_before(Q(at__gt=at)) == last + 1


def test_a_replay_of_dropped_events_is_refused(make_sink):
    sink = make_sink()
    Compaction.objects.update(dropped_seq=7)
    with pytest.raises(EventsGone, match="after 7"):
        start_replay(sink, after=6, until=None, types=[], actor=ACTOR)
