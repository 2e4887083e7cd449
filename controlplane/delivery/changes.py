"""What a mutation changed, for its event: `before`, `after` and `cause`, from the audit record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec

from controlplane.access.visible_audit import visible_records
from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.identity.callers import Caller

# Larger changes are left out, and the event has a link to the audit record.
MOST_BYTES = 64 * 1024
_SYSTEM = "system:"
# The record is written in the event's transaction; both get the time of their statements.
_LONGEST_TRANSACTION = timedelta(hours=1)
# JSON Schemas of what every event's data has in addition.
SCHEMAS: dict[str, dict[str, Any]] = {
    "before": {"type": ["object", "null"]},
    "after": {"type": ["object", "null"]},
    "cause": {
        "type": "object",
        "properties": {"kind": {"type": "string"}, "reason": {"type": "string"}},
        "required": ["kind"],
        "additionalProperties": False,
    },
    "truncated": {"const": True},
    "audit": {"type": "string", "format": "uri"},
}


@dataclass(frozen=True, slots=True)
class Change:
    """The object before and after a mutation, without secrets, and the reason that was given for it."""

    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    reason: str = ""


def read_changes(caller: Caller, events: Sequence[LoggedEvent]) -> dict[UUID, Change]:
    """Return the changes of these events whose audit records the caller may read, by the event's id."""
    if not events:
        return {}
    records = visible_records(caller).filter(
        # The index of audit records is by object.
        object_type__in={event.object_type for event in events},
        object_id__in={event.object_id for event in events},
        at__gte=min(event.at for event in events) - _LONGEST_TRANSACTION,
        at__lte=max(event.at for event in events) + _LONGEST_TRANSACTION,
        event_id__in=[event.id for event in events],
    )
    rows = records.values_list("event_id", "before", "after", "reason")
    return {event_id: Change(before, after, reason) for event_id, before, after, reason in rows if event_id}


def with_change(event: LoggedEvent, change: Change | None, origin: Origin) -> LoggedEvent:
    """Return the event with `cause`, and with `before` and `after` of a mutation. Pure.

    Above 64 KiB of both, `truncated` and a link to the audit record stand for them.
    """
    added: dict[str, Any] = {"cause": _cause(event, change)}
    if change is not None:
        sides = {"before": change.before, "after": change.after}
        is_large = len(msgspec.json.encode(sides)) > MOST_BYTES
        added |= {"truncated": True, "audit": origin.audit_url(event)} if is_large else sides
    return replace(event, change=added)


def described(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type's data as sinks get it."""
    return {**schema, "properties": {**SCHEMAS, **schema["properties"]}}


def _cause(event: LoggedEvent, change: Change | None) -> dict[str, str]:
    kind = event.actor.removeprefix(_SYSTEM) if event.actor.startswith(_SYSTEM) else "request"
    return {"kind": kind, **({"reason": change.reason} if change and change.reason else {})}
