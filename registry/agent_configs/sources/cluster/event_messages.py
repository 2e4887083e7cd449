"""What the authors of a ConfigMap are told by Kubernetes Events. Pure.

Messages are those that the API shows to the document's own organisation.
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
# Kubernetes refuses more.
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
    """What became of a document. served: the generation that is, or 0. planes: how it stands there."""

    generation: int
    served: int
    errors: tuple[str, ...]
    planes: Mapping[str, DataPlaneStatus] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DataPlaneStatus:
    """In one data plane. accepted: the reason and the message of that condition."""

    is_accepted: bool
    reason_and_message: tuple[str, str]
    conflicts: tuple[str, ...]


def build_notices(outcome: DocumentOutcome) -> list[Notice]:
    """One for each thing to say; data planes that say the same are named together."""
    if outcome.errors:
        return [_invalid_notice(outcome)]
    planes_by_message: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for plane, status in sorted(outcome.planes.items()):
        for message in _plane_messages(status):
            planes_by_message[message].append(plane)
    if not planes_by_message:
        return [
            Notice("Accepted", NORMAL, f"Generation {outcome.generation} is valid. No data plane takes it.")
        ]
    return [
        Notice(reason, kind, _shorten(f"{', '.join(planes)}: {note}"))
        for (reason, kind, note), planes in planes_by_message.items()
    ]


def build_event(notice: Notice, config_map: ConfigMap, *, instance: str, now: datetime) -> dict[str, Any]:
    """As events.k8s.io/v1 wants it. The name is the same for the same news, so that it is told once."""
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
    """What changes in an Event that is told again."""
    return {"series": {"count": max(count, _SHORTEST_SERIES), "lastObservedTime": micro_time(now)}}


def event_name(notice: Notice, config_map: ConfigMap) -> str:
    identity = "\0".join((config_map.uid, notice.reason, notice.note))
    # 253 is the longest name of an object.
    return f"{config_map.name[:230]}.{sha256(identity.encode()).hexdigest()[:16]}"


def micro_time(at: datetime) -> str:
    """Kubernetes refuses a time without fractional digits."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _invalid_notice(outcome: DocumentOutcome) -> Notice:
    more = f" And {len(outcome.errors) - 1} more." if len(outcome.errors) > 1 else ""
    served = f" Generation {outcome.served} is served on." if outcome.served else " Nothing of it is served."
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
