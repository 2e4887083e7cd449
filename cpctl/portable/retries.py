"""Whether a request is sent again, and after how long. Pure."""

from __future__ import annotations

from collections.abc import Mapping

TRIES = 5
_BASE_SECONDS = 0.2
_LONGEST_SECONDS = 30.0
# The server did nothing, or could not: a second try cannot do it twice.
_PASSING = {429, 503}
# A gateway lost the answer: what was sent may have happened.
_LOST = {502, 504}


def repeatable(method: str, headers: Mapping[str, str]) -> bool:
    """May it be sent again when nobody knows whether it happened?"""
    return method == "GET" or (method == "POST" and "Idempotency-Key" in headers)


def pause(tried: int, status: int, *, again: bool, retry_after: str, luck: float) -> float | None:
    """Seconds until the next try; None: do not try again. status 0: the connection failed.

    luck: from 0 to 1, so that a thousand clients do not come back at once (full jitter).
    """
    worth = status in _PASSING or (again and (status == 0 or status in _LOST))
    if tried >= TRIES or not worth:
        return None
    if retry_after.isascii() and retry_after.isdecimal():
        said = float(retry_after)
        return said + luck * _BASE_SECONDS if said <= _LONGEST_SECONDS else None
    return luck * min(_LONGEST_SECONDS, _BASE_SECONDS * 2.0**tried)
