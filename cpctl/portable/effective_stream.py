"""Streams of effective values: what their events say about a snapshot. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .snapshots import Snapshot

# The server sends bookmarks more often than this: a longer silence means a dead connection.
SILENCE_SECONDS = 30.0
_LONGEST_SECONDS = 30.0
_BASE_SECONDS = 0.25
_REFRESH = timedelta(hours=1)


@dataclass(frozen=True)
class StreamEvent:
    """A server-sent event: `effective` with values of a scope, or `bookmark` after all of a revision."""

    name: str
    data: Mapping[str, Any]


class EventReader:
    """Parses a stream line by line. Half an event is none."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> StreamEvent | None:
        """Return the event that ends with this line, if any."""
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if "event" not in fields or "data" not in fields:
            return None
        data = json.loads(fields["data"])
        return StreamEvent(fields["event"], data if isinstance(data, dict) else {})


class Comparison:
    """Compares the events of one connection with a snapshot."""

    def __init__(self) -> None:
        self._differs = False

    def is_outdated(self, snapshot: Snapshot, event: StreamEvent) -> bool | None:
        """Return at each bookmark whether values have changed since the snapshot; before it None."""
        if event.name == "effective":
            self._differs |= snapshot.etag(event.data["scope"]) != event.data["etag"]
            return None
        if event.name != "bookmark":
            return None
        differs, self._differs = self._differs, False
        return differs


def rest_seconds(failed: int, luck: float, retry_after: str = "") -> float:
    """Return how long to wait before the next connection. luck: from 0 to 1, so that not all come at once."""
    asked = float(retry_after) if retry_after.isascii() and retry_after.isdecimal() else 0.0
    rest = _BASE_SECONDS + luck * min(_LONGEST_SECONDS, _BASE_SECONDS * 2.0 ** min(failed, 10))
    return max(rest, min(asked, _LONGEST_SECONDS))


def longest_age(snapshot: Snapshot, max_age: timedelta | None) -> timedelta:
    """Return how old values may be that nobody has confirmed since."""
    return snapshot.expires_at - snapshot.created_at if max_age is None else max_age


def must_be_renewed(snapshot: Snapshot, max_age: timedelta | None, now: datetime) -> bool:
    """Return whether to fetch an unchanged snapshot again, so that its file stays young enough."""
    return snapshot.age(now) > min(_REFRESH, longest_age(snapshot, max_age) / 4)
