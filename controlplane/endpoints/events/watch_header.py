"""Transfer of a watch from the view to the event streams in front of it, in the same process.

The watch contains data that its caller may not see, so the view adds it only to requests with a secret that
is unique to the process. Without event streams in front (plain WSGI), responses have no such header.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from controlplane.events.stream_protocol import Watch

HEADER = "X-Controlplane-Watch"
_PROOF_HEADER = "X-Controlplane-Watcher"
_SECRET = secrets.token_urlsafe(24)

# Added to the headers of requests that the event streams pass on.
PROOF = (_PROOF_HEADER.lower().encode(), _SECRET.encode())


def hand_over(watch: Watch, request_headers: Mapping[str, str], response: Any) -> None:
    """Add the watch to the response if the request came through the event streams."""
    if secrets.compare_digest(request_headers.get(_PROOF_HEADER, "").encode(), _SECRET.encode()):
        response[HEADER] = watch.header()
