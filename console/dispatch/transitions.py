"""The timeline of a resource, from its events: states, changes of the agent, retries and requests. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from console.dispatch.masking import masked
from registry.dispatch.event_types import BY_STATE, RESOURCE_ASSIGNED, RESOURCE_OVERDUE, RESOURCE_RETRIED

_STATE_OF = {event_type.name: state.value for state, event_type in BY_STATE.items()}


class ResourceEvent(Protocol):
    """An event of a resource, as the log has it."""

    seq: int | None
    type: str
    at: datetime
    actor: str
    request_id: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Transition:
    """A line of the timeline. kind: state, agent, retry, alarm or request.

    before, after: states, or names of agents. raw: the event as JSON, without secrets.
    """

    kind: str
    before: str
    after: str
    event: ResourceEvent
    reason: str
    epoch: int
    raw: str


def transitions_of(events: Iterable[ResourceEvent]) -> list[Transition]:
    """Return a line for each event, newest first. events: oldest first."""
    lines, agent = [], ""
    for event in events:
        before, after, kind = "", "", _kind_of(event.type)
        if kind == "agent":
            before, after = agent, str(event.data.get("agent", ""))
            agent = after
        elif kind == "state":
            before, after = str(event.data.get("from", "")), _STATE_OF[event.type]
        lines.append(
            Transition(
                kind,
                before,
                after,
                event,
                str(masked(event.data.get("reason", ""))),
                int(event.data.get("epoch", 0)),
                raw_text(event),
            )
        )
    return lines[::-1]


def raw_text(event: ResourceEvent) -> str:
    """Return the event as JSON, without secrets."""
    members = {
        "number": event.seq,
        "type": event.type,
        "time": event.at.isoformat(),
        "actor": event.actor,
        "request_id": event.request_id,
        "data": masked(event.data),
    }
    return json.dumps(members, ensure_ascii=False, indent=1)


def _kind_of(event_type: str) -> str:
    if event_type in _STATE_OF:
        return "state"
    kinds = {RESOURCE_ASSIGNED.name: "agent", RESOURCE_RETRIED.name: "retry", RESOURCE_OVERDUE.name: "alarm"}
    return kinds.get(event_type, "request")
