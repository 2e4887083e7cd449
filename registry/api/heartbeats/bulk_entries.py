"""Read the entries of a heartbeat batch, each by itself: an invalid one does not affect the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework import serializers

from controlplane.api.fields import field_errors
from controlplane.errors import ControlplaneError, FieldError, InvalidRequest
from registry.api.heartbeats import schemas
from registry.heartbeats.record import Heartbeat
from registry.heartbeats.reports import Report, digest_of

# The usual formats. No time zone can move these years out of Python's range.
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"(?:19|2\d)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Entry:
    """A heartbeat of the batch.

    unread: the entry as received, if only the digest of its report was computed. A lease with that digest
    proves the report valid; otherwise it must be read with `read_exactly` before it is recorded.
    """

    agent_id: UUID
    heartbeat: Heartbeat
    unread: Any = None


@dataclass(frozen=True, slots=True)
class BadEntry:
    """An invalid entry. agent_id: as received; empty if it is not a string."""

    agent_id: str
    error: ControlplaneError


def read_entries(items: Sequence[Any]) -> list[Entry | BadEntry]:
    """Read each entry. A second entry for one agent is invalid."""
    entries = [_read_usual(item) or read_exactly(item) for item in items]
    agent_ids = {entry.agent_id for entry in entries if isinstance(entry, Entry)}
    if len(agent_ids) == sum(isinstance(entry, Entry) for entry in entries):
        return entries
    # Of two entries the first that is valid counts, so the reports decide.
    return _refuse_repeated([read_exactly(item) for item in items])


def read_exactly(item: Any) -> Entry | BadEntry:
    """Read an entry with all rules of a heartbeat."""
    try:
        body = schemas.parse_with(schemas.HeartbeatBatchEntry, item)
    except serializers.ValidationError as error:
        errors = field_errors(error.detail)
        detail = f"The heartbeat is invalid: {errors[0].message}"
        agent_id = item.get("agent_id") if isinstance(item, dict) else None
        return BadEntry(agent_id if isinstance(agent_id, str) else "", InvalidRequest(detail, errors=errors))
    return Entry(body["agent_id"], schemas.heartbeat_of(body, item))


def _read_usual(item: Any) -> Entry | None:
    """Read an entry in the usual formats; None for any other, valid or not. A serializer takes 100 x."""
    if not isinstance(item, dict):
        return None
    agent_id, timestamp, lag = item.get("agent_id"), item.get("timestamp"), item.get("consumer_lag")
    instance = item.get("instance_uuid")
    if type(lag) is not int or not 0 <= lag <= schemas.MAX_LAG:
        return None
    if not isinstance(timestamp, str) or not _TIME.fullmatch(timestamp):
        return None
    if not _is_uuid(agent_id) or not (instance is None or _is_uuid(instance)):
        return None
    try:
        reported_at = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    digest = digest_of(item)
    report = Report({}, digest) if digest else None
    heartbeat = Heartbeat(reported_at, lag, report, None if instance is None else UUID(instance))
    return Entry(UUID(agent_id), heartbeat, item if report else None)


def _is_uuid(value: Any) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def _refuse_repeated(entries: Sequence[Entry | BadEntry]) -> list[Entry | BadEntry]:
    agent_ids: set[UUID] = set()
    unrepeated: list[Entry | BadEntry] = []
    for entry in entries:
        is_repeated = isinstance(entry, Entry) and entry.agent_id in agent_ids
        unrepeated.append(_repeated(entry) if isinstance(entry, Entry) and is_repeated else entry)
        if isinstance(entry, Entry):
            agent_ids.add(entry.agent_id)
    return unrepeated


def _repeated(entry: Entry) -> BadEntry:
    message = "The batch already has a heartbeat of this agent. Send one for each agent."
    return BadEntry(
        str(entry.agent_id),
        InvalidRequest(message, errors=[FieldError("/agent_id", "repeated_agent", message)]),
    )
