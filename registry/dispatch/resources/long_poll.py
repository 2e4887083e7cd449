"""Wait for a resource's next state: a long poll that holds a connection but no thread."""

from __future__ import annotations

import re

from controlplane.events.event_filter import EVERYTHING
from controlplane.events.stream_protocol import Watch
from controlplane.identity.callers import Caller

_PATH = re.compile(r"/api/v1/resources/[a-z0-9-]+")


def is_resource_path(path: str) -> bool:
    """True for requests that may wait; controlplane.endpoints.events.streams handles them."""
    return _PATH.fullmatch(path) is not None


def watch_resource(resource_id: str, caller: Caller, *, after: int, seconds: int) -> Watch:
    """Return a watch for any event of the resource after `after`; the resource is then read again.

    The watch shows no events, so it needs no permission to read them.
    """
    principal = str(caller.principal_id)
    return Watch(after, principal, EVERYTHING, object_type="resource", object_id=resource_id, wait=seconds)
