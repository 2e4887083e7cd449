"""Wait for the units of a request in the queue: a long poll that holds a connection but no thread."""

from __future__ import annotations

import re
from uuid import UUID

from controlplane.events.event_filter import EVERYTHING
from controlplane.events.stream_protocol import Watch
from controlplane.identity.callers import Caller

_PATH = re.compile(r"/api/v1/pools/[^/]+/leases(/[0-9a-f-]{36})?")


def is_lease_path(path: str) -> bool:
    """True for requests that may wait; controlplane.endpoints.events.streams handles them."""
    return _PATH.fullmatch(path) is not None


def watch_lease(lease_id: UUID, caller: Caller, *, after: int, seconds: int) -> Watch:
    """Return a watch for any event of the lease after `after`; the request is then handled again.

    The watch shows no events, so it needs no permission to read them.
    """
    principal = str(caller.principal_id)
    return Watch(
        after, principal, EVERYTHING, object_type="pool_lease", object_id=str(lease_id), wait=seconds
    )
