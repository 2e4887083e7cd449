"""Event types of retention."""

from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.roles import Action

declare_audience("legal_hold", Action.AUDIT_READ)
declare_audience("log_partition", Action.AUDIT_READ)

_COUNT = {"type": "integer"}

HOLD_PLACED = register("legal_hold.placed", "A legal hold was placed.", hold=TEXT, reason=TEXT)
HOLD_RELEASED = register("legal_hold.released", "A legal hold was released.", hold=TEXT)
PARTITION_ARCHIVED = register(
    "log_partition.archived",
    "A month of the event log or audit log was archived.",
    partition=TEXT,
    count=_COUNT,
    sha256=TEXT,
)
PARTITION_DROPPED = register(
    "log_partition.dropped",
    "An archived month of the event log or audit log was dropped.",
    partition=TEXT,
    count=_COUNT,
)
