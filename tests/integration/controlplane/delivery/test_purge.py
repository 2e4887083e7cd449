"""Old deliveries and attempts are deleted; figures of queues."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from prometheus_client import CollectorRegistry

from controlplane.delivery.metrics import DeliveryCollector
from controlplane.delivery.models import Delivery, DeliveryAttempt, DeliveryState, Sink
from controlplane.delivery.purge import purge
from tests.integration.controlplane.delivery.conftest import dispatch_all, move

pytestmark = pytest.mark.django_db(transaction=True)


def _settle(name: str, state: str, days: int) -> None:
    row = Delivery.objects.get(key=f"thing/{name}")
    ago = Now() - timedelta(days=days)
    Delivery.objects.filter(id=row.id).update(state=state, settled_at=ago)
    attempt = DeliveryAttempt.objects.create(delivery=row, number=1, result="delivered")
    DeliveryAttempt.objects.filter(id=attempt.id).update(at=ago)


def test_what_is_old_is_deleted_and_dead_and_waiting_deliveries_stay(make_sink):
    make_sink(filter={"types": ["thing.*"]})
    move("old", "dead", "recent", "waiting", "long-dead")
    dispatch_all()
    _settle("old", DeliveryState.DELIVERED, 15)
    _settle("dead", DeliveryState.DEAD, 89)
    _settle("long-dead", DeliveryState.DEAD, 91)
    _settle("recent", DeliveryState.DELIVERED, 6)
    assert purge() == (2, 3)
    kept = Delivery.objects.values_list("key", flat=True)
    assert set(kept) == {"thing/dead", "thing/recent", "thing/waiting"}
    assert DeliveryAttempt.objects.get().delivery.key == "thing/recent"


def test_queues_are_measured(make_sink):
    make_sink(filter={"types": ["thing.*"]})
    move("a", "b")
    registry = CollectorRegistry()
    registry.register(DeliveryCollector())
    assert registry.get_sample_value("cp_event_dispatch_lag_seconds") > 0
    dispatch_all()
    assert registry.get_sample_value("cp_event_dispatch_lag_seconds") == 0
    assert registry.get_sample_value("cp_sinks", {"state": "active"}) == 1
    assert registry.get_sample_value("cp_deliveries_waiting", {"sink_kind": "webhook"}) == 2
    assert registry.get_sample_value("cp_deliveries_oldest_seconds", {"sink_kind": "webhook"}) > 0


def test_a_channel_of_notifications_follows_no_events_and_is_not_late(make_sink):
    channel = make_sink("on call")
    Sink.objects.filter(id=channel.id).update(kind="slack")
    make_sink(filter={"types": ["thing.*"]})
    move("a")
    registry = CollectorRegistry()
    registry.register(DeliveryCollector())
    dispatch_all()
    assert registry.get_sample_value("cp_event_dispatch_lag_seconds") == 0
