"""How the view hands a watch to the watchers in front of it, in the same process.

The watch holds what its reader may not see, so it is only handed to whoever proves to be the watchers: by a
word that is new in every process. Without watchers in front (plain WSGI) the answer has no such header.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from controlplane.events.stream_protocol import Watch

HEADER = "X-Controlplane-Watch"
_ASKED_BY = "X-Controlplane-Watcher"
_WORD = secrets.token_urlsafe(24)

# What the watchers add to the headers of a request that they pass on.
PROOF = (_ASKED_BY.lower().encode(), _WORD.encode())


def hand_over(watch: Watch, request_headers: Mapping[str, str], response: Any) -> None:
    """Attach the watch to the response, if the watchers asked."""
    if secrets.compare_digest(request_headers.get(_ASKED_BY, "").encode(), _WORD.encode()):
        response[HEADER] = watch.header()
