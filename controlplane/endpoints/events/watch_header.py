"""Transfer of a watch from the view to the event streams in front of it, in the same process.

The watch contains data that its caller may not see, so the view adds it only to requests with a secret that
is unique to the process. Without event streams in front (plain WSGI), responses have no such header.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Protocol

HEADER = "X-Controlplane-Watch"
_PROOF_HEADER = "X-Controlplane-Watcher"
_AGAIN_HEADER = "X-Controlplane-Watching"
_SECRET = secrets.token_urlsafe(24)

# Added to the headers of requests that the event streams pass on.
PROOF = (_PROOF_HEADER.lower().encode(), _SECRET.encode())
# Added when a request is handled again, whose watch is already known.
AGAIN = (_AGAIN_HEADER.lower().encode(), _SECRET.encode())


class HandedOver(Protocol):
    def header(self) -> str: ...


def hand_over(watch: HandedOver, request_headers: Mapping[str, str], response: Any) -> None:
    """Add the watch to the response if the request came through the event streams."""
    if _is_ours(request_headers, _PROOF_HEADER):
        response[HEADER] = watch.header()


def is_asked_again(request_headers: Mapping[str, str]) -> bool:
    """True if the watchers have the watch of this request, as it was at `Last-Event-ID`."""
    return _is_ours(request_headers, _AGAIN_HEADER)


def _is_ours(request_headers: Mapping[str, str], name: str) -> bool:
    return secrets.compare_digest(request_headers.get(name, "").encode(), _SECRET.encode())
