"""Record a heartbeat batch and show the result of each entry, in the order of the request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import ControlplaneError
from registry.agents.liveness import LivenessPolicy
from registry.api.heartbeats import schemas
from registry.api.heartbeats.bulk_entries import BadEntry, Entry, read_entries, read_exactly
from registry.heartbeats.record_many import RecordingOptions, record_each, renew_heartbeats
from registry.heartbeats.renew import Renewal
from registry.metrics import HEARTBEATS, result_label


def record_batch(items: Sequence[Any], options: RecordingOptions) -> list[dict[str, Any]]:
    """Record each entry by itself; return the results as the response shows them."""
    entries = read_entries(items)
    renewals = renew_heartbeats(_heartbeats(entries), options)
    entries = [_complete(entry, renewals) for entry in entries]
    rest = {
        agent_id: heartbeat
        for agent_id, heartbeat in _heartbeats(entries).items()
        if agent_id not in renewals
    }
    results = {**renewals, **record_each(rest, options)}
    shown = [_show(entry, results, options.policy) for entry in entries]
    for code, count in Counter(result["code"] or "accepted" for result in shown).items():
        HEARTBEATS.labels(result_label(code)).inc(count)
    return shown


def _heartbeats(entries: Sequence[Entry | BadEntry]) -> dict[UUID, Any]:
    return {entry.agent_id: entry.heartbeat for entry in entries if isinstance(entry, Entry)}


def _complete(entry: Entry | BadEntry, renewals: Mapping[UUID, Renewal]) -> Entry | BadEntry:
    """Read the report of an entry whose lease does not prove it valid."""
    if isinstance(entry, BadEntry) or entry.unread is None or entry.agent_id in renewals:
        return entry
    return read_exactly(entry.unread)


def _show(
    entry: Entry | BadEntry, results: Mapping[UUID, Renewal | ControlplaneError], policy: LivenessPolicy
) -> dict[str, Any]:
    if isinstance(entry, BadEntry):
        return _refused(entry.agent_id, entry.error)
    result = results[entry.agent_id]
    if isinstance(result, ControlplaneError):
        return _refused(str(entry.agent_id), result)
    heartbeat = schemas.show_heartbeat(result, policy)
    return {
        "agent_id": heartbeat["agent_id"],
        "status": 200,
        "code": None,
        "detail": None,
        "errors": [],
        "heartbeat": heartbeat,
    }


def _refused(agent_id: str, error: ControlplaneError) -> dict[str, Any]:
    return {
        "agent_id": agent_id,
        "status": int(STATUS_BY_ERROR[type(error)]),
        "code": error.code,
        "detail": error.detail,
        "errors": [asdict(field_error) for field_error in error.errors],
        "heartbeat": None,
    }
