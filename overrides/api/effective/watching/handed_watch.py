"""What a view hands over to the watchers in front of it, and server-sent events of effective values. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.scopes import Scope
from overrides.api.effective.watching.topics import VALUES, TopicKey

_EVENT_ID = re.compile(r"([0-9]{1,18})(?:-([0-9a-f]*))?")


@dataclass(frozen=True, slots=True)
class HandedWatch:
    """A watch of scopes. etags: what the caller has; None: the same as when it was asked before.

    principal: id of the caller. revision: that its answers have at least. wait: seconds of a long poll; 0 for
    a stream. defaults: digest of the platform defaults.
    """

    principal: str
    etags: tuple[tuple[Scope, str], ...] | None
    revision: int = 0
    resource_type: str = ""
    defaults: str = ""
    wait: int = 0
    form: str = VALUES

    def header(self) -> str:
        etags = None if self.etags is None else [[*scope.path, etag] for scope, etag in self.etags]
        rest = [self.principal, self.revision, self.resource_type, self.defaults, self.wait, self.form]
        return json.dumps([etags, *rest])

    def topics(self) -> dict[TopicKey, bytes]:
        return {
            TopicKey(scope, self.resource_type, self.form): etag.encode() for scope, etag in self.etags or ()
        }


def watch_from(header: bytes) -> HandedWatch:
    etags, principal, *rest = json.loads(header)
    scopes = None if etags is None else tuple((Scope(*path), etag) for *path, etag in etags)
    return HandedWatch(principal, scopes, *rest)


def event_id(revision: int, defaults: str) -> str:
    """Return the id up to which a stream was read: a revision, and the platform defaults that applied."""
    return f"{revision}-{defaults}" if defaults else str(revision)


def revision_of(last_event_id: str, defaults: str) -> int | None:
    """Return the revision of an id with these platform defaults; None: start over. Raises ValueError."""
    match = _EVENT_ID.fullmatch(last_event_id)
    if not match:
        raise ValueError(last_event_id)
    return int(match[1]) if (match[2] or "") == defaults else None


def effective_events(items: Iterable[bytes], revision: int, defaults: str) -> bytes:
    """Return items as server-sent events, and a bookmark: who reconnects with its id misses nothing.

    Only the bookmark has an id: before it, other scopes of the same revision may follow.
    """
    events = b"".join(b"event: effective\ndata: %s\n\n" % item for item in items)
    bookmark = f'id: {event_id(revision, defaults)}\nevent: bookmark\ndata: {{"revision":{revision}}}\n\n'
    return events + bookmark.encode()
