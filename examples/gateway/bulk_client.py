"""The control plane's endpoint for heartbeats in bulk, over one connection that is kept open."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

PATH = "/api/v1/agents:heartbeat"
_TIMEOUT = 30.0


class Refused(Exception):
    """The control plane refused the whole request. retry_after: seconds to wait at least."""

    def __init__(self, status: int, detail: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{status} {detail}")
        self.status, self.detail, self.retry_after = status, detail, retry_after


class BulkClient:
    """token: returns the gateway's token; called for each request, so that a new one needs no restart."""

    def __init__(self, url: str, token: Callable[[], str]) -> None:
        parts = urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)
        self._path, self._token = parts.path.rstrip("/") + PATH, token

    def send(self, entries: Sequence[str]) -> list[dict[str, Any]]:
        """Return the result of each entry, in order.

        Raises Refused, OSError (no connection), or http.client.HTTPException (an incomplete answer).
        """
        body = f'{{"items":[{",".join(entries)}]}}'.encode()
        headers = {"Authorization": f"Bearer {self._token()}", "Content-Type": "application/json"}
        try:
            self._connection.request("POST", self._path, body, headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            # The next request opens a new connection.
            self._connection.close()
            raise
        if answer.status != http.HTTPStatus.OK:
            raise _refused(answer, content)
        results: list[dict[str, Any]] = json.loads(content)["items"]
        return results

    def close(self) -> None:
        self._connection.close()


def _refused(answer: http.client.HTTPResponse, content: bytes) -> Refused:
    try:
        detail = str(json.loads(content)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.reason
    seconds = answer.headers.get("Retry-After", "0")
    return Refused(answer.status, detail, float(seconds) if seconds.isdigit() else 0.0)
