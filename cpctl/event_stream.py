"""Event streams: follow the event log, and resume a broken stream without missing events."""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
from collections.abc import Iterator, Mapping
from typing import Any

from cpctl.client import Api
from cpctl.errors import ApiError
from cpctl.output import note
from cpctl.portable.retries import pause
from cpctl.portable.streams import SILENCE_SECONDS, follow


def last_seq(api: Api) -> int:
    """Return the number of the last event."""
    # No event has this object type, so that the response contains only the last number.
    page = api.get("events", {"limit": 1, "object_type": "none"}).json()
    return int(page["next_after"])


def poll(api: Api, query: Mapping[str, Any], *, after: int, seconds: float) -> tuple[list[Any], int]:
    """Return the events after this number, waiting up to `seconds` for the first, and the last number."""
    wait = max(1, min(20, int(seconds)))
    parameters = {**query, "after": after, "wait": wait}
    page = api.send("GET", "events", query=parameters, timeout=wait + 10).json()
    return page["items"], int(page["next_after"])


def watch(api: Api, query: Mapping[str, Any], *, after: int) -> Iterator[Any]:
    """Yield events after this number as they occur. The stream never ends."""
    return follow(
        lambda seq: _lines(api, query, seq),
        after=after,
        breaks=(OSError, http.client.HTTPException),
        rest=lambda failed, error: _wait_before_retry(api, failed, error),
    )


def _wait_before_retry(api: Api, failed: int, error: Exception) -> int | None:
    """Wait before reconnecting. Raises ApiError or Unreachable if a retry would not help.

    Returns the number to continue after if the server has dropped the events before it.
    """
    status, retry_after = 0, ""
    if isinstance(error, urllib.error.HTTPError):
        status, retry_after = error.code, error.headers.get("Retry-After", "")
        oldest = _oldest_kept(error) if status == http.HTTPStatus.GONE else None
        error.close()
        if oldest is not None:
            note(f"Events before {oldest} are no longer available. Continuing with event {oldest}.")
            return oldest - 1
    wait = pause(failed, status, again=True, retry_after=retry_after, luck=random.random())  # noqa: S311  (jitter)
    if wait is None:
        # A normal request returns the error.
        api.get("events", {"limit": 1})
        raise ApiError(status, {"detail": f"The event stream failed: {error}."})
    time.sleep(wait)
    return None


def _oldest_kept(error: urllib.error.HTTPError) -> int | None:
    try:
        oldest = json.loads(error.read()).get("oldest_seq")
    except ValueError:
        return None
    return oldest if isinstance(oldest, int) else None


def _lines(api: Api, query: Mapping[str, Any], after: int) -> Iterator[str]:
    request = api.request(
        "GET", "events", query={**query, "after": after}, headers={"Accept": "text/event-stream"}
    )
    with api.open(request, SILENCE_SECONDS) as response:
        yield from (line.decode().rstrip("\r\n") for line in response)
