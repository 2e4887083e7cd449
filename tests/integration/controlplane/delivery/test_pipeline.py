"""From the log to the receiver, within one process."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from standardwebhooks.webhooks import Webhook

from controlplane import outgoing
from controlplane.delivery import claims
from controlplane.delivery.claims import Budget, claim
from controlplane.delivery.dispatcher import dispatch_batch
from controlplane.delivery.models import Delivery, DeliveryAttempt, Lane, Sink, SinkProgress
from controlplane.delivery.schedule import Answer, Result
from controlplane.delivery.settling import Outcome, settle
from controlplane.delivery.signing import new_secret
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import change_sink
from controlplane.delivery.stopping import pause_overflowing
from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.support.observations import observed
from tests.support.webhook_receiver import Reply

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_event_arrives_signed_as_a_cloudevent(make_sink, receiver, relays):
    secret = new_secret()
    make_sink(secret=secret, filter={"types": ["thing.*"]})
    move("a", to="somewhere")
    dispatch_all()
    relays.until_settled()

    (request,) = receiver.received
    event = Event.objects.get(type="thing.moved")
    assert Webhook(secret).verify(request.body, request.headers)["data"]["to"] == "somewhere"
    assert request.event["id"] == str(event.id) == request.id
    assert request.event["type"] == "dev.controlplane.thing.moved.v1"
    assert request.headers["content-type"] == "application/cloudevents+json"
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempt, delivery.last_status) == ("delivered", 1, 200)
    attempt = DeliveryAttempt.objects.get()
    assert (attempt.result, attempt.response) == ("delivered", "ok")
    assert attempt.request_headers["webhook-signature"] == "v1,…"
    assert not Lane.objects.exists()


def test_a_sink_gets_what_its_filter_wants_and_never_events_about_sinks(make_sink, receiver, relays):
    make_sink(filter={"object_types": ["thing", "sink"], "expression": "data.to = 'x'"})
    make_sink("another")
    move("a")
    move("b", to="y")
    dispatch_all()
    relays.until_settled()
    subjects = [one.event["subject"] for one in receiver.received]
    assert sorted(subjects) == ["thing/a", "thing/a", "thing/b"]


def test_a_failing_sink_does_not_count_as_a_late_first_attempt(make_sink, receiver, relays):
    make_sink(filter={"types": ["thing.*"]})
    SinkProgress.objects.update(failures=2)
    measured = observed("cp_delivery_first_attempt_seconds")
    move("a")
    dispatch_all()
    relays.until_settled()

    assert len(receiver.received) == 1
    assert observed("cp_delivery_first_attempt_seconds") == measured


def test_events_of_one_object_arrive_in_order_and_a_failing_object_blocks_itself_alone(
    make_sink, receiver, relays
):
    make_sink(filter={"types": ["thing.*"]})
    receiver.reply = lambda request: Reply(500 if request.event["subject"] == "thing/bad" else 200)
    for number in range(5):
        move("bad", "good", "fine", to=str(number))
    dispatch_all()
    relays.until(lambda: Delivery.objects.filter(state="delivered").count() == 10)

    by_subject: dict[str, list[str]] = {}
    for request in receiver.received:
        by_subject.setdefault(request.event["subject"], []).append(request.event["data"]["to"])
    assert by_subject == {"thing/good": list("01234"), "thing/fine": list("01234"), "thing/bad": ["0"]}


def test_binary_mode_has_attributes_as_headers_and_signed_data_as_the_body(make_sink, receiver, relays):
    secret = new_secret()
    config = {"url": receiver.url, "mode": "binary"}
    make_sink(secret=secret, filter={"types": ["thing.*"]}, config=config)
    move("a/ü", to="somewhere")
    move("a/ü", to="x" * 30_000)
    dispatch_all()
    relays.until_settled()
    small, large = receiver.received
    assert small.headers["content-type"] == "application/json"
    assert json.loads(small.body) == {"cause": {"kind": "request"}, "to": "somewhere"}
    assert small.headers["ce-subject"] == "thing/a%252F%25C3%25BC"
    assert small.headers["ce-id"] == small.headers["webhook-id"]
    assert large.body.startswith(b'{"ref":"http')
    for request in receiver.received:
        Webhook(secret).verify(request.body, request.headers)


def test_a_retry_has_the_same_id_and_a_signature_of_its_own_time(make_sink, receiver, relays, settings):
    settings.WEBHOOK_SCHEDULE = (0, 1, 1)
    secret = new_secret()
    make_sink(secret=secret, filter={"types": ["thing.*"]})
    receiver.reply = lambda request: Reply(200 if len(receiver.received) == 3 else 503)
    measured = observed("cp_delivery_first_attempt_seconds")
    move("a")
    dispatch_all()
    relays.until_settled()
    assert observed("cp_delivery_first_attempt_seconds") == measured + 1
    assert len(set(receiver.ids)) == 1
    times = [int(one.headers["webhook-timestamp"]) for one in receiver.received]
    assert times[0] < times[1] < times[2] or times[0] < times[2]
    for request in receiver.received:
        Webhook(secret).verify(request.body, request.headers)
    assert list(DeliveryAttempt.objects.order_by("number").values_list("number", "status")) == [
        (1, 503),
        (2, 503),
        (3, 200),
    ]


def test_a_delivery_is_dead_after_the_last_attempt_and_the_next_of_its_object_follows(
    make_sink, receiver, relays, settings
):
    settings.WEBHOOK_SCHEDULE = (0, 0)
    make_sink(filter={"types": ["thing.*"]})
    receiver.reply = lambda request: Reply(404 if request.event["data"]["to"] == "1" else 200)
    move("a", to="1")
    move("a", to="2")
    dispatch_all()
    relays.until_settled()
    rows = Delivery.objects.order_by("seq").values_list("state", "attempt", "last_error")
    assert list(rows) == [("dead", 2, "The receiver answered with 404."), ("delivered", 1, "")]


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        (Reply(302, {"Location": "http://127.0.0.1:1/"}), "redirect"),
        (Reply(500), "server_error"),
        (Reply(hang=30), "timeout"),
        (Reply(body=b"x" * 50, drip=0.5), "timeout"),
    ],
)
def test_failures_are_told_apart(make_sink, receiver, relays, settings, reply, result):
    settings.WEBHOOK_TIMEOUT_SECONDS = 1
    make_sink(filter={"types": ["thing.*"]})
    receiver.reply = lambda request: reply
    move("a")
    dispatch_all()
    relays.until_tried()
    attempt = DeliveryAttempt.objects.get()
    assert attempt.result == result
    assert Delivery.objects.get().state == "waiting"
    assert len(receiver.received) == 1


def test_retry_after_is_respected(make_sink, receiver, relays):
    make_sink(filter={"types": ["thing.*"]})
    receiver.reply = lambda request: Reply(429, {"Retry-After": "3600"})
    move("a")
    dispatch_all()
    relays.until_tried()
    assert Lane.objects.filter(next_at__gt=Now() + timedelta(minutes=59)).exists()


def test_410_disables_the_sink_and_says_so(make_sink, receiver, relays):
    sink = make_sink(filter={"types": ["thing.*"]})
    receiver.reply = lambda request: Reply(410)
    move("a")
    dispatch_all()
    relays.until_tried()
    sink.refresh_from_db()
    assert (sink.state, sink.reason) == ("disabled", "gone")
    assert Event.objects.get(type="sink.disabled").data == {"sink": "audit", "reason": "gone"}


def test_a_private_address_is_refused_at_each_attempt(make_sink, receiver, relays, settings):
    make_sink(filter={"types": ["thing.*"]})
    settings.OUTGOING_ALLOWED_NETWORKS = []
    move("a")
    dispatch_all()
    relays.until_tried()
    assert DeliveryAttempt.objects.get().result == "address_refused"
    assert not receiver.received


def test_what_the_creator_may_no_longer_read_is_skipped(make_sink, creator, receiver, relays):
    make_sink(filter={"types": ["thing.*"]})
    move("a")
    dispatch_all()
    creator.role_bindings.all().delete()
    relays.until_settled()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.reason) == ("skipped", "permission")
    assert not receiver.received


def test_a_disabled_creator_pauses_the_sink_and_nothing_is_lost(make_sink, creator, receiver, relays):
    sink = make_sink(filter={"types": ["thing.*"]})
    move("a")
    dispatch_all()
    type(creator).objects.filter(id=creator.id).update(is_active=False)
    relays.until(lambda: Sink.objects.filter(state="paused", reason="creator_disabled").exists())
    assert not receiver.received
    type(creator).objects.filter(id=creator.id).update(is_active=True)
    Sink.objects.filter(id=sink.id).update(state="active")
    relays.until_settled()
    assert len(receiver.received) == 1


def test_a_paused_sink_reads_the_log_when_it_is_active_again(make_sink, receiver, relays):
    sink = make_sink(filter={"types": ["thing.*"]})
    other = make_sink("other", filter={"types": ["thing.*"]})
    Sink.objects.filter(id=sink.id).update(state="paused")
    move("a", "b")
    dispatch_all()
    assert Delivery.objects.filter(sink=other).count() == 2
    assert not Delivery.objects.filter(sink=sink).exists()
    Sink.objects.filter(id=sink.id).update(state="active")
    dispatch_all()
    assert list(Delivery.objects.filter(sink=sink).order_by("seq").values_list("key", flat=True)) == [
        "thing/a",
        "thing/b",
    ]


def test_dispatching_twice_queues_nothing_twice(make_sink):
    sink = make_sink(filter={"types": ["thing.*"]})
    before = sink.cursor_seq
    move("a")
    dispatch_all()
    Sink.objects.update(cursor_seq=before)
    assert dispatch_batch() > 0
    assert Delivery.objects.count() == 1


def test_a_result_after_its_lease_is_ignored(make_sink):
    make_sink(filter={"types": ["thing.*"]})
    move("a")
    dispatch_all()
    (late,) = claim(Budget(10, 10), kinds=["webhook"])
    assert claim(Budget(10, 10), kinds=["webhook"]) == [], "It is leased."
    Lane.objects.update(leased_until=Now() - timedelta(minutes=10))
    (again,) = claim(Budget(10, 10), kinds=["webhook"])
    assert again.delivery_id == late.delivery_id

    assert settle([Outcome(late, "dead", Answer(Result.SERVER_ERROR, 500))]) == []
    assert Delivery.objects.get().state == "waiting"
    assert len(settle([Outcome(again, "delivered", Answer(Result.DELIVERED, 200))])) == 1
    assert Delivery.objects.get().state == "delivered"


def test_a_sink_has_few_deliveries_in_flight_and_a_suspect_one(make_sink):
    sink = make_sink(filter={"types": ["thing.*"]}, max_in_flight=3)
    SinkProgress.objects.update(tokens=100)
    move(*"abcdef")
    dispatch_all()
    assert len(claim(Budget(100, 100), kinds=["webhook"])) == 3
    assert claim(Budget(100, 100), kinds=["webhook"]) == []
    Lane.objects.update(leased_until=None)
    SinkProgress.objects.filter(sink=sink).update(failures=claims.SUSPECT_FAILURES)
    assert len(claim(Budget(100, 100), kinds=["webhook"])) == 1


def test_sinks_get_equal_shares_of_a_small_budget(make_sink):
    for name in "abc":
        make_sink(name, filter={"types": ["thing.*"]})
    SinkProgress.objects.update(tokens=100)
    move(*(f"thing-{number}" for number in range(10)))
    dispatch_all()
    leased = [one.sink_id for one in claim(Budget(6, 6), kinds=["webhook"])]
    assert sorted(leased.count(sink_id) for sink_id in set(leased)) == [2, 2, 2]


def test_an_overflowing_sink_is_paused_and_reads_the_log_again_later(make_sink, receiver, relays):
    sink = make_sink(filter={"types": ["thing.*"]})
    move("a", "b", "c")
    dispatch_all()
    # "a" was delivered before the others became too old.
    first = Delivery.objects.get(key="thing/a")
    Delivery.objects.filter(id=first.id).update(state="delivered")
    Lane.objects.filter(key="thing/a").delete()
    Delivery.objects.update(created_at=Now() - timedelta(hours=25))

    assert pause_overflowing() == [sink.id]
    assert pause_overflowing() == []
    sink.refresh_from_db()
    assert (sink.state, sink.reason) == ("paused", "overflow")
    assert Delivery.objects.count() == 1
    Sink.objects.update(state="active")
    dispatch_all()
    relays.until_settled()
    assert sorted(one.event["subject"] for one in receiver.received) == ["thing/b", "thing/c"]


def test_an_emptied_lane_and_a_new_event_do_not_miss_each_other(make_sink, receiver, relays):
    make_sink(filter={"types": ["thing.*"]})
    for number in range(5):
        move("a", to=str(number))
        dispatch_all()
        relays.until_settled()
    assert [one.event["data"]["to"] for one in receiver.received] == list("01234")


def test_a_sink_that_is_being_changed_delays_no_other(make_sink, receiver, relays):
    slow = make_sink("slow", filter={"types": ["thing.*"]})
    make_sink("other", filter={"types": ["thing.*"]})
    move("a")
    changed, seen = threading.Event(), threading.Event()

    def change() -> None:
        with transaction.atomic():
            Sink.objects.select_for_update().get(id=slow.id)
            changed.set()
            seen.wait(30)
        connection.close()

    changing = threading.Thread(target=change)
    changing.start()
    changed.wait(30)
    dispatch_all()
    names = list(Delivery.objects.values_list("sink__name", flat=True))
    seen.set()
    changing.join()
    assert names == ["other"]
    dispatch_all()
    assert set(Delivery.objects.values_list("sink__name", flat=True)) == {"other", "slow"}


def lock_all_sinks() -> None:
    """From another connection, which fails at once if somebody has a lock."""
    with transaction.atomic():
        list(Sink.objects.select_for_update(nowait=True))
    connection.close()


def test_no_lock_is_held_while_the_receiver_of_a_changed_sink_is_looked_up(make_sink, creator, monkeypatch):
    sink = make_sink()
    looked_up = []

    def look_up(host: str, port: int) -> list[str]:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lock_all_sinks).result()
        looked_up.append(host)
        return ["127.0.0.1"]

    monkeypatch.setattr(outgoing, "resolve", look_up)
    terms = SinkTerms("audit", {"url": "http://slow.example"})
    change_sink(sink, terms, precondition=None, actor=Actor(creator.id, creator.name))
    assert looked_up == ["slow.example"]
