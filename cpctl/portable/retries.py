"""Retry policy of requests. Pure."""

from __future__ import annotations

from collections.abc import Mapping

TRIES = 5
_BASE_SECONDS = 0.2
_LONGEST_SECONDS = 30.0
# The server did not process the request: a retry is safe.
_NOT_PROCESSED = {429, 503}
# A gateway lost the response: the request may have been processed.
_RESPONSE_LOST = {502, 504}
# The server answered, and does not know either: its database did not confirm the change.
_UNKNOWN = "outcome_unknown"


def repeatable(method: str, headers: Mapping[str, str]) -> bool:
    """True if the request can be retried although it may have been processed."""
    return method == "GET" or (method == "POST" and "Idempotency-Key" in headers)


def pause(
    tried: int, status: int, *, again: bool, retry_after: str, luck: float, code: str = ""
) -> float | None:
    """Return the seconds until the next attempt; None: do not retry. status 0: the connection failed.

    again: what may have been processed can be sent again. code: of the server's problem document.
    luck: random number from 0 to 1, so that clients do not retry at the same time (full jitter).
    """
    is_open = status == 0 or status in _RESPONSE_LOST or code == _UNKNOWN
    worth = again if is_open else status in _NOT_PROCESSED
    if tried >= TRIES or not worth:
        return None
    if retry_after.isascii() and retry_after.isdecimal():
        seconds = float(retry_after)
        return seconds + luck * _BASE_SECONDS if seconds <= _LONGEST_SECONDS else None
    return luck * min(_LONGEST_SECONDS, _BASE_SECONDS * 2.0**tried)
