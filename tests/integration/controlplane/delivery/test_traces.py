"""The trace of a change goes on to the receivers of its event: in the CloudEvent, and in a header."""

from __future__ import annotations

import pytest

from controlplane.delivery.models import Delivery
from controlplane.events.models import Event
from controlplane.observability.traces import exporting, spans
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.support.recorded_traces import recorded_traces
from tests.support.webhook_receiver import Reply

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_receiver_gets_the_trace_of_the_change(make_sink, receiver, relays):
    make_sink(filter={"types": ["thing.*"]})
    with recorded_traces() as collector:
        with spans.span("change"):
            move("a")
        dispatch_all()
        relays.until_settled()
        exporting.stop()
    (changed,), (delivered,) = collector.named("change"), collector.named("relay.deliver")
    assert Event.objects.get(type="thing.moved").traceparent.split("-")[1:3] == [changed.trace, changed.id]
    assert (delivered.trace, delivered.parent) == (changed.trace, changed.id)
    assert delivered.attributes["controlplane.sink_kind"] == "webhook"
    (request,) = receiver.received
    assert request.event["traceparent"].split("-")[1:3] == [changed.trace, changed.id]
    assert request.headers["traceparent"].split("-")[1:3] == [delivered.trace, delivered.id]


def test_an_attempt_that_fails_says_how(make_sink, receiver, relays):
    make_sink(filter={"types": ["thing.*"]})
    receiver.reply = lambda request: Reply(500)
    with recorded_traces() as collector:
        with spans.span("change"):
            move("a")
        dispatch_all()
        relays.until(lambda: Delivery.objects.filter(attempt=1).exists())
        exporting.stop()
    delivered = collector.named("relay.deliver")[0]
    assert (delivered.is_error, delivered.attributes["error.type"]) == (True, "server_error")


def test_a_trace_that_is_not_recorded_goes_on_without_a_span(make_sink, receiver, relays):
    make_sink(filter={"types": ["thing.*"]})
    with recorded_traces(OTEL_TRACES_SAMPLER="always_off") as collector:
        with spans.span("change"):
            move("a")
        dispatch_all()
        relays.until_settled()
    (request,) = receiver.received
    assert request.headers["traceparent"] == request.event["traceparent"]
    assert not collector.spans


def test_without_traces_a_receiver_gets_none(make_sink, receiver, relays):
    make_sink(filter={"types": ["thing.*"]})
    move("a")
    dispatch_all()
    relays.until_settled()
    (request,) = receiver.received
    assert "traceparent" not in request.event
    assert "traceparent" not in request.headers
