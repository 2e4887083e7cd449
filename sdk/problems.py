"""The exception that the generated client raises when the server refuses a request.

`make sdk` copies this file into the generated package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Problem(Exception):
    """A problem document (RFC 9457). Branch on `code`; texts may change."""

    def __init__(self, status: int, document: Mapping[str, Any], retry_after: str = "") -> None:
        self.status = status
        self.code = str(document.get("code", ""))
        self.request_id = str(document.get("request_id", ""))
        self.errors = list(document.get("errors") or ())
        self.retry_after = retry_after
        # Of `events_gone`: the oldest event that is kept.
        self.oldest_seq = document.get("oldest_seq")
        detail = document.get("detail") or document.get("title") or f"The server answered {status}."
        super().__init__(f"{detail} (code {self.code}, request {self.request_id})")


def checked(answer: Any) -> Any:
    """Return the parsed body of a detailed response. Raises Problem where its status is 400 or more."""
    if answer.status_code < 400:
        return answer.parsed
    document = answer.parsed.to_dict() if answer.parsed else {}
    raise Problem(int(answer.status_code), document, str(answer.headers.get("Retry-After", "")))
