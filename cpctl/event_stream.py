"""Follow the event log: a stream that goes on where it broke, and misses nothing."""

from __future__ import annotations

import http.client
import random
import time
import urllib.error
from collections.abc import Iterator, Mapping
from typing import Any

from cpctl.client import Api
from cpctl.errors import ApiError
from cpctl.portable.retries import pause
from cpctl.portable.streams import SILENCE_SECONDS, follow


def last_seq(api: Api) -> int:
    """The number after which everything is still to come."""
    # Nothing is about such an object, so the answer is short, and tells how far the log goes.
    page = api.get("events", {"limit": 1, "object_type": "none"}).json()
    return int(page["next_after"])


def poll(api: Api, query: Mapping[str, Any], *, after: int, seconds: float) -> tuple[list[Any], int]:
    """What happened after this number, at latest when so much time has passed, and the next number."""
    wait = max(1, min(20, int(seconds)))
    asked = {**query, "after": after, "wait": wait}
    page = api.send("GET", "events", query=asked, timeout=wait + 10).json()
    return page["items"], int(page["next_after"])


def watch(api: Api, query: Mapping[str, Any], *, after: int) -> Iterator[Any]:
    """Yield events after this number as they happen, for ever."""
    return follow(
        lambda seq: _lines(api, query, seq),
        after=after,
        breaks=(OSError, http.client.HTTPException),
        rest=lambda failed, error: _rest(api, failed, error),
    )


def _rest(api: Api, failed: int, error: Exception) -> None:
    """Wait before coming back. Raises ApiError or Unreachable where that would not help."""
    status, retry_after = 0, ""
    if isinstance(error, urllib.error.HTTPError):
        status, retry_after = error.code, error.headers.get("Retry-After", "")
        error.close()
    wait = pause(failed, status, again=True, retry_after=retry_after, luck=random.random())  # noqa: S311  (jitter)
    if wait is None:
        # Asked in the ordinary way, the server says what is wrong.
        api.get("events", {"limit": 1})
        raise ApiError(status, {"detail": f"The stream of events broke: {error}."})
    time.sleep(wait)


def _lines(api: Api, query: Mapping[str, Any], after: int) -> Iterator[str]:
    request = api.request(
        "GET", "events", query={**query, "after": after}, headers={"Accept": "text/event-stream"}
    )
    with api.open(request, SILENCE_SECONDS) as response:
        yield from (line.decode().rstrip("\r\n") for line in response)
