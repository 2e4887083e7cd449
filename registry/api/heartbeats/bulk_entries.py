"""The entries of a call with many heartbeats: each is read by itself, so a bad one refuses no other."""

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
    """agent_id: as it was sent; empty if that is no text."""

    agent_id: str
    error: ControlplaneError


def read_entries(items: Sequence[Any]) -> list[Entry | BadEntry]:
    """Read each entry. Of two for one agent the first counts."""
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
        body = schemas.parsed(schemas.HeartbeatBatchEntry, item)
    except serializers.ValidationError as error:
        errors = field_errors(error.detail)
        detail = f"The heartbeat is not valid: {errors[0].message}"
        agent_id = item.get("agent_id") if isinstance(item, dict) else None
        return BadEntry(agent_id if isinstance(agent_id, str) else "", InvalidRequest(detail, errors=errors))
    return Entry(body["agent_id"], schemas.heartbeat_of(body, item))


def _repeated(entry: Entry) -> BadEntry:
    message = "This call has a heartbeat of the agent already. Send one for each agent."
    return BadEntry(
        str(entry.agent_id),
        InvalidRequest(message, errors=[FieldError("/agent_id", "repeated_agent", message)]),
    )
