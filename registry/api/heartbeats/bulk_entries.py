"""Read the entries of a heartbeat batch, each by itself: an invalid one does not affect the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from rest_framework import serializers

from controlplane.api.fields import field_errors
from controlplane.errors import ControlplaneError, FieldError, InvalidRequest
from registry.api.heartbeats import schemas
from registry.heartbeats.record import Heartbeat


@dataclass(frozen=True, slots=True)
class Entry:
    agent_id: UUID
    heartbeat: Heartbeat


@dataclass(frozen=True, slots=True)
class BadEntry:
    """An invalid entry. agent_id: as received; empty if it is not a string."""

    agent_id: str
    error: ControlplaneError


def read_entries(items: Sequence[Any]) -> list[Entry | BadEntry]:
    """Read each entry. A second entry for one agent is invalid."""
    agent_ids: set[UUID] = set()
    entries: list[Entry | BadEntry] = []
    for item in items:
        entry = _read(item)
        if isinstance(entry, Entry) and entry.agent_id in agent_ids:
            entry = _repeated(entry)
        if isinstance(entry, Entry):
            agent_ids.add(entry.agent_id)
        entries.append(entry)
    return entries


def _read(item: Any) -> Entry | BadEntry:
    try:
        body = schemas.parse_with(schemas.HeartbeatBatchEntry, item)
    except serializers.ValidationError as error:
        errors = field_errors(error.detail)
        detail = f"The heartbeat is invalid: {errors[0].message}"
        agent_id = item.get("agent_id") if isinstance(item, dict) else None
        return BadEntry(agent_id if isinstance(agent_id, str) else "", InvalidRequest(detail, errors=errors))
    return Entry(body["agent_id"], schemas.heartbeat_of(body, item))


def _repeated(entry: Entry) -> BadEntry:
    message = "The batch already has a heartbeat of this agent. Send one for each agent."
    return BadEntry(
        str(entry.agent_id),
        InvalidRequest(message, errors=[FieldError("/agent_id", "repeated_agent", message)]),
    )
