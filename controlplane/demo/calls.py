"""Requests of the demo to the control plane's API, over one connection per caller."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

_SECONDS = 40


class Refused(Exception):
    """The API answered with a problem document."""

    def __init__(self, status: int, problem: Any) -> None:
        self.status = status
        self.problem = problem if isinstance(problem, dict) else {}
        super().__init__(f"{status}: {self.problem.get('detail', problem)} {self.problem.get('errors', '')}")


class Caller:
    """Calls the API with one token. Not for use by several threads."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port or 80, timeout=_SECONDS
        )
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return the JSON of the answer. Raises Refused, OSError."""
        content = None if body is None else json.dumps(body)
        extra = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            self._connection.request(method, f"/api/v1/{path}", content, {**self._headers, **extra})
            response = self._connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            # The next call opens a new connection.
            self._connection.close()
            raise ConnectionError(str(error)) from error
        answer = json.loads(text) if text else None
        if response.status >= 300:
            raise Refused(response.status, answer)
        return answer
