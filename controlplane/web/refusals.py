"""Problem documents for requests that the HTTP protocol itself refuses: no application sees them.

They have no request id: what is refused may have had no headers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

# Request line and headers.
MAX_HEAD_BYTES = 16 * 1024
_DETAILS = {
    HTTPStatus.BAD_REQUEST: "The request is not valid HTTP/1.1."
    " Check the request line, the headers and the length of the body.",
    HTTPStatus.REQUEST_TIMEOUT: "The request did not arrive in time. Send it again on a new connection.",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "The request line and headers are larger than 16 KiB."
    " Send fewer or shorter headers.",
}
CODES = frozenset(status.name.lower() for status in _DETAILS)


def _response(status: HTTPStatus) -> bytes:
    code = status.name.lower()
    body = json.dumps(
        {
            "type": f"/problems/{code}",
            "title": status.phrase,
            "status": int(status),
            "code": code,
            "detail": _DETAILS[status],
            "errors": [],
            "request_id": "",
        }
    ).encode()
    lines = b"content-type: application/problem+json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
    return lines % len(body) + body


_RESPONSES = {status: _response(status) for status in _DETAILS}


class HeadTooLarge(Exception):
    """A head has more than MAX_HEAD_BYTES."""


def check_head(method: bytes, url: bytes, headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise HeadTooLarge."""
    # With spaces, colons and ends of lines.
    line = len(method) + len(url) + len(b"  HTTP/1.1\r\n\r\n")
    if line + sum(len(name) + len(value) + 4 for name, value in headers) > MAX_HEAD_BYTES:
        raise HeadTooLarge


def refusal_of(status: int, server_lines: bytes) -> bytes:
    """Return a complete response, after which the connection must be closed."""
    return b"".join((STATUS_LINE[status], server_lines, _RESPONSES[HTTPStatus(status)]))
