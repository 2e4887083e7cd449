"""Calls to service providers: create, delete and read a resource, with retries."""

from __future__ import annotations

import http.client
import json
import random
import threading
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

TRIES, FIRST_PAUSE, LONGEST_PAUSE = 4, 0.5, 30.0
# A provider may need long to create something.
TIMEOUT = 60.0


class ProviderFailed(Exception):
    """The provider refused, or did not answer. retryable: another try may succeed; status: 0 without one."""

    def __init__(self, detail: str, *, retryable: bool, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(detail)
        self.retryable, self.status, self.retry_after = retryable, status, retry_after


def create(endpoint: str, resource_id: str, spec: Any, event_id: str, stopping: threading.Event) -> None:
    """Create the resource. The id and the Idempotency-Key make a repetition harmless."""
    query = urllib.parse.urlencode({"id": resource_id})
    _persist(stopping, "POST", f"{endpoint}?{query}", {"spec": spec}, event_id)


def delete(endpoint: str, resource_id: str, event_id: str, stopping: threading.Event) -> None:
    """Start to delete the resource. One that does not exist is deleted."""
    try:
        _persist(stopping, "DELETE", _url(endpoint, resource_id), None, event_id)
    except ProviderFailed as failed:
        if failed.status not in (404, 410):
            raise


def read(endpoint: str, resource_id: str) -> dict[str, Any] | None:
    """Return the resource, or None if there is none. Raises ProviderFailed."""
    try:
        return dict(_call("GET", _url(endpoint, resource_id), None, "", timeout=5.0))
    except ProviderFailed as failed:
        if failed.status in (404, 410):
            return None
        raise


def _url(endpoint: str, resource_id: str) -> str:
    return f"{endpoint}/{urllib.parse.quote(resource_id, safe='')}"


def _persist(stopping: threading.Event, *call: Any) -> None:
    """Try again after 5xx, 429, timeouts and lost connections."""
    for tries in range(TRIES):
        try:
            _call(*call)
        except ProviderFailed as failed:
            is_last = tries == TRIES - 1 or stopping.is_set()
            if is_last or not failed.retryable:
                raise
            longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2**tries)
            stopping.wait(failed.retry_after + random.uniform(0, longest))  # noqa: S311  (jitter)
        else:
            return


def _call(method: str, url: str, body: Any, event_id: str, timeout: float = TIMEOUT) -> Any:
    headers = {"Content-Type": "application/json"}
    if event_id:
        headers["Idempotency-Key"] = event_id
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310  (an address that its operator gave)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310  (an address that its operator gave)
            return json.loads(answer.read(1 << 20) or b"{}")
    except urllib.error.HTTPError as error:
        with error:
            after = error.headers.get("Retry-After", "")
            detail = f"{method} failed with {error.code}: {error.read(300).decode(errors='replace')}"
        raise ProviderFailed(
            detail,
            retryable=error.code >= 500 or error.code == 429,
            status=error.code,
            retry_after=min(float(after), LONGEST_PAUSE) if after.isdigit() else 0.0,
        ) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ProviderFailed(f"{method} failed: {error}", retryable=True) from None
