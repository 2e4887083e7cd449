"""Kubernetes Events for the authors of ConfigMaps. Pure.

Messages are those that the API shows to the document's organisation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from registry.agent_configs.sources.cluster.objects import ConfigMap

NORMAL, WARNING = "Normal", "Warning"
# Kubernetes rejects longer notes.
_MAX_NOTE_LENGTH = 1024
_CONTROLLER = "controlplane.flyte.org/agent-configs"
_SHORTEST_SERIES = 2
_QUARANTINE_REASONS = ("Quarantined", "Suspected")


@dataclass(frozen=True, slots=True)
class Notice:
    reason: str
    type: str
    note: str


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """A document's outcome. served: the served generation, or 0. planes: status by data plane."""

    generation: int
    served: int
    errors: tuple[str, ...]
    planes: Mapping[str, DataPlaneStatus] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DataPlaneStatus:
    """The status in one data plane. reason_and_message: of the condition Accepted."""

    is_accepted: bool
    reason_and_message: tuple[str, str]
    conflicts: tuple[str, ...]


def build_notices(outcome: DocumentOutcome) -> list[Notice]:
    """Build one notice per message; data planes with the same message share a notice."""
    if outcome.errors:
        return [_invalid_notice(outcome)]
    planes_by_message: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for plane, status in sorted(outcome.planes.items()):
        for message in _plane_messages(status):
            planes_by_message[message].append(plane)
    if not planes_by_message:
        return [
            Notice(
                "Accepted",
                NORMAL,
                f"Generation {outcome.generation} is valid. No data plane accepts the team.",
            )
        ]
    return [
        Notice(reason, kind, _shorten(f"{', '.join(planes)}: {note}"))
        for (reason, kind, note), planes in planes_by_message.items()
    ]


def build_event(notice: Notice, config_map: ConfigMap, *, instance: str, now: datetime) -> dict[str, Any]:
    """Build an Event of events.k8s.io/v1. Equal notices have the same name, so each is sent once."""
    regarding = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": config_map.namespace,
        "name": config_map.name,
        "uid": config_map.uid,
    }
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": event_name(notice, config_map), "namespace": config_map.namespace},
        "eventTime": micro_time(now),
        "reportingController": _CONTROLLER,
        "reportingInstance": instance[:128],
        "action": "Published",
        "reason": notice.reason,
        "regarding": regarding,
        "note": notice.note,
        "type": notice.type,
    }


def build_series(count: int, *, now: datetime) -> dict[str, Any]:
    """Build the patch for a repeated Event."""
    return {"series": {"count": max(count, _SHORTEST_SERIES), "lastObservedTime": micro_time(now)}}


def event_name(notice: Notice, config_map: ConfigMap) -> str:
    identity = "\0".join((config_map.uid, notice.reason, notice.note))
    # Object names have at most 253 characters.
    return f"{config_map.name[:230]}.{sha256(identity.encode()).hexdigest()[:16]}"


def micro_time(at: datetime) -> str:
    """Format a time with fractional digits, which Kubernetes requires."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _invalid_notice(outcome: DocumentOutcome) -> Notice:
    more = f" And {len(outcome.errors) - 1} more." if len(outcome.errors) > 1 else ""
    served = (
        f" Generation {outcome.served} is still served." if outcome.served else " No generation is served."
    )
    room = _MAX_NOTE_LENGTH - len(more) - len(served)
    return Notice("InvalidConfiguration", WARNING, f"{_shorten(outcome.errors[0], room)}{more}{served}")


def _plane_messages(status: DataPlaneStatus) -> Iterable[tuple[str, str, str]]:
    reason, message = status.reason_and_message
    if reason in _QUARANTINE_REASONS:
        return [("Quarantined", WARNING, message)]
    if status.conflicts:
        return [("Conflicted", WARNING, conflict) for conflict in status.conflicts]
    if status.is_accepted:
        return [("Accepted", NORMAL, message or "accepted.")]
    return [(reason, WARNING, message or "not accepted.")]


def _shorten(note: str, most: int = _MAX_NOTE_LENGTH) -> str:
    return note if len(note) <= most else f"{note[: most - 3]}..."
