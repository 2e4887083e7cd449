"""Event types of sinks. They are never delivered to sinks, or each delivery would cause the next."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER, TEXT, register
from controlplane.identity.roles import Action

declare_audience("sink", Action.SINK_READ)
# Kinds of events that no sink gets.
UNDELIVERED_KINDS = frozenset({"sink", "delivery", "notification", "alert"})

SINK_CREATED = register("sink.created", "A sink was created.", sink=TEXT, kind=TEXT)
SINK_CHANGED = register("sink.changed", "A sink was changed.", sink=TEXT)
SINK_DELETED = register("sink.deleted", "A sink was deleted, with its deliveries.", sink=TEXT)
SINK_PAUSED = register("sink.paused", "A sink gets no events until it is resumed.", sink=TEXT, reason=TEXT)
SINK_RESUMED = register(
    "sink.resumed", "A sink gets events again, beginning with those that it has missed.", sink=TEXT
)
SINK_DISABLED = register(
    "sink.disabled",
    "A sink was switched off, because its receiver is gone or has failed for days.",
    sink=TEXT,
    reason=TEXT,
)
SINK_SECRET_ROTATED = register(
    "sink.secret_rotated",
    "A sink signs with a new secret, and until the overlap ends with the old one too.",
    sink=TEXT,
)
SINK_SECRET_REVOKED = register("sink.secret_revoked", "Old secrets of a sink no longer sign.", sink=TEXT)
SINK_REPLAYED = register(
    "sink.replayed", "Events were queued for a sink once more.", sink=TEXT, after=INTEGER, until=INTEGER
)
DELIVERY_RETRIED = register("sink.delivery_retried", "A delivery was queued again.", sink=TEXT, delivery=TEXT)
DELIVERY_DISCARDED = register("sink.delivery_discarded", "A delivery was given up.", sink=TEXT, delivery=TEXT)
