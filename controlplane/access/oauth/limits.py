"""Limits for failed requests to the token endpoint, by client and address. No client is ever locked."""

from __future__ import annotations

import hashlib

from django.conf import settings

from controlplane.access import attempt_counters
from controlplane.web.client_address import source_of

WINDOW_SECONDS = 60
# Guesses of client ids from one address are limited too.
_CLIENTS_PER_ADDRESS = 10


def count_request(client_id: str, address: str) -> bool:
    """Count a request before it is checked. True if there were too many failures."""
    counts = attempt_counters.add(_keys(client_id, address), WINDOW_SECONDS)
    most = settings.OAUTH_FAILURES_PER_MINUTE
    return counts[0] > most or counts[1] > most * _CLIENTS_PER_ADDRESS


def forgive(client_id: str, address: str) -> None:
    """Subtract a request that did not fail."""
    attempt_counters.add(_keys(client_id, address), WINDOW_SECONDS, -1)


def _keys(client_id: str, address: str) -> list[str]:
    source = source_of(address)
    return [_key("client", client_id, source), _key("address", source)]


def _key(kind: str, *parts: str) -> str:
    digest = hashlib.sha256(chr(0).join(parts).encode(errors="replace")).hexdigest()[:40]
    return f"oauth:{kind}:{digest}"
