"""The event of a delivery, as its receiver gets it."""

from __future__ import annotations

from controlplane.delivery.audience import Audience
from controlplane.delivery.changes import Change, read_changes, with_change
from controlplane.delivery.cloudevents import structured
from controlplane.delivery.dispatcher import with_teams
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.models import Delivery
from controlplane.delivery.origins import origin
from controlplane.delivery.webhooks import WEBHOOK, most_bytes_of
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller


def sent_document(delivery: Delivery, caller: Caller) -> bytes | None:
    """Return the CloudEvent of a delivery; None if the log no longer has it or the caller may not read it.

    What the event changed is missing if the caller may not read its audit record.
    """
    row = visible_events(caller).filter(seq=delivery.seq).first()
    if row is None:
        return None
    (event,) = with_teams([row])
    here = origin()
    event = with_change(event, _change_sent(delivery, event, caller), here)
    sink = delivery.sink
    most_bytes = most_bytes_of(sink.config) if sink.kind == WEBHOOK.name else 0
    return structured(event, here, key=delivery.key, most_bytes=most_bytes)


def _change_sent(delivery: Delivery, event: LoggedEvent, caller: Caller) -> Change | None:
    """Return the change if both the sink's creator, who got it, and the caller may read it."""
    audience = Audience()
    audience.refresh()
    creator = audience.caller(delivery.sink.created_by_id)
    if creator is None or event.id not in read_changes(creator, [event]):
        return None
    return read_changes(caller, [event]).get(event.id)
