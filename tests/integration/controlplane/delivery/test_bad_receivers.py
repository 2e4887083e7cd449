"""Receivers that hang, and sinks that cannot be opened, do not delay others."""

from __future__ import annotations

import pytest

from controlplane.delivery import kinds
from controlplane.delivery.kinds import SinkKind
from controlplane.delivery.models import Delivery, Sink
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.support.webhook_receiver import Reply, running_receiver

pytestmark = pytest.mark.django_db(transaction=True)


def test_hanging_receivers_take_half_of_the_connections_at_most(make_sink, receiver, relays, settings):
    settings.WEBHOOK_CONNECTIONS = 8
    relays.relay.__init__()
    with running_receiver() as hanging:
        hanging.reply = lambda request: Reply(hang=30)
        for number in range(10):
            sink = make_sink(f"hanging-{number}", url=hanging.url, filter={"types": ["thing.*"]})
            type(sink.progress).objects.filter(sink=sink).update(failures=5)
        good = make_sink("good", filter={"types": ["thing.*"]})
        move(*(f"thing-{number}" for number in range(40)))
        dispatch_all()
        relays.until(lambda: Delivery.objects.filter(sink=good, state="delivered").count() == 40)
        assert len(hanging.received) <= 4


def test_a_sink_that_cannot_be_opened_stops_no_other(make_sink, relays, monkeypatch):
    """As a client did that raised an error of its own for a certificate."""

    def fail(config, secrets):
        raise RuntimeError(f"cannot use {config}")

    monkeypatch.setitem(kinds._kinds, "odd", SinkKind("odd", lambda config, credentials: None, fail))
    make_sink("odd", filter={"types": ["thing.*"]})
    Sink.objects.filter(name="odd").update(kind="odd")
    good = make_sink("good", filter={"types": ["thing.*"]})
    move("a")
    dispatch_all()
    relays.until(lambda: Delivery.objects.filter(sink=good, state="delivered").exists())
    relays.until_tried(2)
    error = Sink.objects.get(name="odd").progress.last_error
    assert error == "The sink cannot be opened (RuntimeError). See the log."


def test_a_sink_of_a_later_release_waits_for_it_and_stops_no_other(make_sink, receiver, relays):
    """Its events are queued and sent by processes that know its flavour."""
    later = make_sink("later", filter={"types": ["thing.*"]})
    move("a")
    dispatch_all()
    Sink.objects.filter(name="later").update(flavour="flyte-next")
    good = make_sink("good", filter={"types": ["thing.*"]})
    before = Sink.objects.get(name="later").cursor_seq
    move("b")
    dispatch_all()
    relays.until(lambda: Delivery.objects.filter(sink=good, state="delivered").exists())
    relays.until(lambda: "flyte-next" in type(later.progress).objects.get(sink=later).last_error)
    assert Sink.objects.get(name="later").cursor_seq == before

    # A process of the later release comes: here, the flavour becomes one that this one knows.
    Sink.objects.filter(name="later").update(flavour="native")
    dispatch_all()
    relays.until_settled()
    assert Delivery.objects.filter(sink=later, state="delivered").count() == 2


def test_a_process_without_the_key_of_secrets_says_so_once_and_sends_once_it_has_it(
    make_sink, receiver, relays, settings, caplog
):
    sink = make_sink(filter={"types": ["thing.*"]})
    key_file, settings.SECRETS_KEY_FILE = settings.SECRETS_KEY_FILE, ""
    move("a")
    dispatch_all()
    relays.until(
        lambda: "SECRETS_KEY_FILE is not set" in type(sink.progress).objects.get(sink=sink).last_error
    )
    relays.relay._receivers.read({sink.id})

    lines = [record for record in caplog.records if record.getMessage() == "sink_not_opened"]
    assert [(line.sink, "SECRETS_KEY_FILE is not set" in line.error) for line in lines] == [
        (str(sink.id), True)
    ]

    settings.SECRETS_KEY_FILE = key_file
    relays.until_settled()
    assert len(receiver.received) == 1
