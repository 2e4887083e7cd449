"""Wait for the next bundle of a data plane: a long poll that holds a connection and no thread."""

from __future__ import annotations

import re

from controlplane.events.event_filter import EVERYTHING
from controlplane.events.stream_protocol import Watch
from controlplane.identity.callers import Caller

_PATH = re.compile(r"/api/v1/data-planes/[^/]+/config")


def is_configuration_path(path: str) -> bool:
    """True for requests that may wait: controlplane.endpoints.events.streams stands in front of them."""
    return _PATH.fullmatch(path) is not None


def watch_data_plane(name: str, caller: Caller, *, after: int, seconds: int) -> Watch:
    """Anything new about the data plane after that event: then its configuration is looked at again.

    No event is shown, so the watch needs no right to read events.
    """
    whose = str(caller.principal_id)
    return Watch(after, whose, EVERYTHING, object_type="data_plane", object_id=name, wait=seconds)
