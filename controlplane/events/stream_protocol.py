"""What a watcher wants to hear, and server-sent events as text. Pure.

Format: WHATWG HTML, "Server-sent events".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from controlplane.events.event_filter import Sight, sight_from
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class Watch:
    """after: the last number that was sent already. wait: seconds of a long poll; 0 for a stream.

    sight: what the watcher may read. principal: whose watch it is.
    """

    after: int
    principal: str
    sight: Sight
    type: str = ""
    object_type: str = ""
    object_id: str = ""
    wait: int = 0

    def header(self) -> str:
        return json.dumps({**asdict(self), "sight": self.sight.as_json()})

    def wants(self, told: Told) -> bool:
        return (
            self.type in ("", told.type)
            and self.object_type in ("", told.object_type)
            and self.object_id in ("", told.object_id)
            and self.sight.shows(told.type, told.scope, told.teams)
        )


def watch_from(header: bytes) -> Watch:
    said = json.loads(header)
    return Watch(**{**said, "sight": sight_from(said["sight"])})


@dataclass(frozen=True, slots=True)
class Told:
    """An event, ready to be sent. teams: that it names. text: as a server-sent event."""

    seq: int
    type: str
    object_type: str
    object_id: str
    scope: Scope
    teams: tuple[str, ...]
    text: bytes


def as_text(seq: int, name: str, data: Mapping[str, Any]) -> bytes:
    """One server-sent event. JSON has no line breaks, so one `data:` line holds it."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, name.encode(), msgspec.json.encode(data))


def bookmark(seq: int) -> bytes:
    """Nothing happened, up to here: a client that comes back with this number misses nothing."""
    return as_text(seq, "bookmark", {"seq": seq})
