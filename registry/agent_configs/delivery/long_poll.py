"""Wait for a data plane's next bundle: a long poll that holds a connection but no thread."""

from __future__ import annotations

import re

from controlplane.events.event_filter import EVERYTHING
from controlplane.events.stream_protocol import Watch
from controlplane.identity.callers import Caller

_PATH = re.compile(r"/api/v1/data-planes/[^/]+/config")


def is_configuration_path(path: str) -> bool:
    """True for requests that may wait; controlplane.endpoints.events.streams handles them."""
    return _PATH.fullmatch(path) is not None


def watch_data_plane(name: str, caller: Caller, *, after: int, seconds: int) -> Watch:
    """Return a watch for any event of the data plane after `after`; its configuration is then read again.

    The watch shows no events, so it needs no permission to read them.
    """
    whose = str(caller.principal_id)
    return Watch(after, whose, EVERYTHING, object_type="data_plane", object_id=name, wait=seconds)
