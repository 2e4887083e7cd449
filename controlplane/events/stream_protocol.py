"""Watches of the event log, and server-sent events as text. Pure.

Format: WHATWG HTML, "Server-sent events".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import msgspec

from controlplane.events.event_filter import EventFilter, event_filter_from
from controlplane.scopes import Scope

NATIVE, CLOUDEVENTS = "native", "cloudevents"


@dataclass(frozen=True, slots=True)
class Watch:
    """A request to follow events. after: the last number sent. wait: seconds of a long poll; 0 for a stream.

    filter: events that the watcher may read. principal: id of the watcher. format: NATIVE or CLOUDEVENTS.
    is_read_again: whether events end a long poll only if Django then hands over no watch, and whether Django
    handles it once more when the time is over.
    """

    after: int
    principal: str
    filter: EventFilter
    type: str = ""
    object_type: str = ""
    object_id: str = ""
    wait: int = 0
    format: str = NATIVE
    is_read_again: bool = False

    def header(self) -> str:
        return json.dumps({**asdict(self), "filter": self.filter.as_json()})

    def wants(self, event: StreamedEvent) -> bool:
        return (
            self.type in ("", event.type)
            and self.object_type in ("", event.object_type)
            and self.object_id in ("", event.object_id)
            and self.filter.shows(event.type, event.scope, event.teams, event.owner)
        )


def watch_from(header: bytes) -> Watch:
    document = json.loads(header)
    return Watch(**{**document, "filter": event_filter_from(document["filter"])})


@dataclass(frozen=True, slots=True)
class StreamedEvent:
    """An event for streams. teams: named in its data. text: the event as a server-sent event.

    owner: id of the team that owns its object.
    """

    seq: int
    type: str
    object_type: str
    object_id: str
    scope: Scope
    teams: tuple[str, ...]
    text: bytes
    owner: UUID | None = None


def as_text(seq: int, name: str, data: Mapping[str, Any] | bytes) -> bytes:
    """Return a server-sent event. JSON has no line breaks, so that one `data:` line suffices.

    data: an object, or the bytes of its JSON.
    """
    encoded = data if isinstance(data, bytes) else msgspec.json.encode(data)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, name.encode(), encoded)


def bookmark(seq: int) -> bytes:
    """Return a bookmark: a client that reconnects with this number misses no events."""
    return as_text(seq, "bookmark", {"seq": seq})
