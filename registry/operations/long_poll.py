"""Wait for the end of an operation: a long poll that holds a connection, but no thread and no transaction."""

from __future__ import annotations

import re

from controlplane.events.event_filter import EVERYTHING
from controlplane.events.stream_protocol import Watch
from controlplane.identity.callers import Caller

_PATH = re.compile(r"/api/v1/operations/[^/:]+")


def is_operation_path(path: str) -> bool:
    """True for requests that may wait; controlplane.endpoints.events.streams handles them."""
    return _PATH.fullmatch(path) is not None


def watch_operation(object_type: str, object_id: str, caller: Caller, *, after: int, seconds: int) -> Watch:
    """Return a watch for the events of the object after `after`, until the operation is done.

    The watch shows no events, so it needs no permission to read them.
    """
    return Watch(
        after,
        str(caller.principal_id),
        EVERYTHING,
        object_type=object_type,
        object_id=object_id,
        wait=seconds,
        is_read_again=True,
    )
