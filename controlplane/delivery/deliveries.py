"""Deliveries as people handle them: read, retry, discard; a sink's test and the preview of a filter."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.database.clock import database_now, statement_now
from controlplane.database.owned import of_owners
from controlplane.delivery.dispatcher import is_deliverable, key_of, with_teams
from controlplane.delivery.event_types import DELIVERY_DISCARDED, DELIVERY_RETRIED
from controlplane.delivery.filters import SinkFilter
from controlplane.delivery.kinds import Message, Sent, kind_named
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.models import Delivery, DeliveryState, Lane, Sink
from controlplane.delivery.origins import origin
from controlplane.delivery.sink_secrets import secrets_of
from controlplane.errors import Conflict, UnknownDelivery
from controlplane.events import log
from controlplane.events.types import EventType
from controlplane.events.visibility import visible_events
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.ids import uuid7
from controlplane.scopes import Scope

TEST_TYPE = "sink.test"
PREVIEWED = 1_000


@dataclass(frozen=True, slots=True)
class Preview:
    """Which of the last events a filter lets pass. looked_at: how many there were."""

    looked_at: int
    matching: tuple[LoggedEvent, ...]


def visible_deliveries(caller: Caller) -> QuerySet[Delivery]:
    """Return the deliveries of sinks that the caller may read."""
    owners = caller.owners_for(Action.SINK_READ)
    return Delivery.objects.filter(of_owners(owners, "sink__team_id")).select_related("sink")


def get_delivery(caller: Caller, delivery_id: UUID, action: Action = Action.SINK_READ) -> Delivery:
    """Return a delivery on whose sink the caller may perform the action. Raises UnknownDelivery."""
    delivery = visible_deliveries(caller).filter(id=delivery_id).first()
    if delivery is None:
        raise UnknownDelivery(f"There is no delivery {delivery_id}. It may be too old to be kept.")
    caller.require(action, owner=delivery.sink.team_id)
    return delivery


@transaction.atomic
def retry(delivery: Delivery, *, actor: Actor) -> Delivery:
    """Have a delivery sent now: one that waits, is dead or was discarded. Raises Conflict for others.

    It begins a new schedule of attempts.
    """
    row = _locked(delivery)
    if row.state in (DeliveryState.DELIVERED, DeliveryState.SKIPPED):
        message = (
            f"The delivery is {row.state}. To send its event once more, replay the sink from its number."
        )
        raise Conflict(message)
    row.state, row.attempt, row.settled_at = DeliveryState.WAITING, 0, None
    row.save(update_fields=["state", "attempt", "settled_at"])
    with connection.cursor() as cursor:
        cursor.execute(_DUE_NOW, [row.sink_id, row.key, row.replay])
    _record(DELIVERY_RETRIED, row, actor)
    return row


@transaction.atomic
def discard(delivery: Delivery, *, actor: Actor) -> Delivery:
    """Give up a delivery that waits or is dead, so that the next of its object follows. Raises Conflict."""
    row = _locked(delivery)
    if row.state not in (DeliveryState.WAITING, DeliveryState.DEAD):
        raise Conflict(f"The delivery is {row.state} already.")
    row.state, row.settled_at = DeliveryState.DISCARDED, database_now()
    row.save(update_fields=["state", "settled_at"])
    Lane.objects.filter(sink=row.sink_id, key=row.key, replay=row.replay).update(next_at=Now())
    _record(DELIVERY_DISCARDED, row, actor)
    return row


def send_test(sink: Sink) -> Sent:
    """Send a test event now, and return what the receiver answered. Raises Conflict, SecretsUnavailable."""
    kind = kind_named(sink.kind)
    if kind is None:
        raise Conflict(f"This installation cannot send to sinks of kind {sink.kind} any more.")
    now = statement_now()
    event = LoggedEvent(
        id=uuid7(),
        seq=log.last_given(),
        type=TEST_TYPE,
        at=now,
        object_type="sink",
        object_id=str(sink.id),
        scope=Scope(),
        team=sink.team.slug if sink.team else "",
        team_id=sink.team_id,
        actor="system:test",
        request_id="",
        data={"sink": sink.name, "message": "A test of this sink. Nothing has happened."},
    )
    sender = kind.open(sink.config, secrets_of(sink))
    try:
        return sender.send(Message(event, origin(), key_of(event, sink.ordering), now, flavour=sink.format))
    finally:
        sender.close()


def preview(caller: Caller, sink_filter: SinkFilter) -> Preview:
    """Return which of the last thousand events that the caller may read would go to a sink."""
    log.number_committed()
    rows = list(visible_events(caller).numbered_before(None)[:PREVIEWED])
    events = [event for event in with_teams(rows) if is_deliverable(event)]
    here = origin()
    return Preview(len(rows), tuple(event for event in events if sink_filter.matches(event, here)))


def _locked(delivery: Delivery) -> Delivery:
    """Lock the lane first, as relays do, then the delivery."""
    lanes = Lane.objects.filter(sink=delivery.sink_id, key=delivery.key, replay=delivery.replay)
    list(lanes.select_for_update())
    rows = Delivery.objects.select_for_update(of=("self",)).select_related("sink")
    row = rows.filter(id=delivery.id).first()
    if row is None:
        raise UnknownDelivery(f"The delivery {delivery.id} is no longer kept.")
    return row


def _record(event_type: EventType, delivery: Delivery, actor: Actor) -> None:
    audit.record(
        event_type,
        "sink",
        str(delivery.sink_id),
        actor=actor,
        before=None,
        after=None,
        data={"sink": delivery.sink.name, "delivery": str(delivery.id)},
        team_id=delivery.sink.team_id,
    )


_DUE_NOW = """
INSERT INTO delivery_lane (sink_id, key, replay) VALUES (%s, %s, %s)
ON CONFLICT (sink_id, key, replay) DO UPDATE SET next_at = statement_timestamp()
"""
