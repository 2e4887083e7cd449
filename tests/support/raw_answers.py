"""Raw bytes to a server and its answers, without what is different each time."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

_TIMES_AND_IDS = {
    *("request_id", "last_heartbeat", "lease_expires_at", "next_heartbeat_in_seconds", "agent_id"),
    *("state_since", "create_time", "update_time"),
    *("token", "token_id", "token_expires_at", "registered_at", "created_at", "updated_at"),
}
_VARIABLE_HEADERS = (b"date", b"x-request-id", b"content-length", b"ratelimit", b"ratelimit-policy")


def converse(port: int, pieces: Iterable[bytes], *, ends: bool = False) -> bytes:
    """Send bytes and return all that comes until the server closes. ends: close our side first."""
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = bytearray()
        # A server that closes early has answered before: that is still there to read.
        with suppress(BrokenPipeError, ConnectionResetError):
            for piece in pieces:
                connection.sendall(piece)
            if ends:
                connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                received += piece
        return bytes(received)


def answers_of(received: bytes, *, to_head: bool = False) -> list[tuple[Any, ...]]:
    """Return status line, headers and body of each. to_head: the first answers HEAD, so it has no body."""
    answers = []
    while received:
        head, _, received = received.partition(b"\r\n\r\n")
        line, *lines = head.split(b"\r\n")
        headers = [tuple(each.split(b": ", 1)) for each in lines]
        length = next((int(value) for name, value in headers if name == b"content-length"), 0)
        is_empty = (to_head and not answers) or line.split()[1] in (b"100", b"204", b"304")
        length = 0 if is_empty else length
        if (b"transfer-encoding", b"chunked") in headers and not is_empty:
            body, received = _dechunked(received)
        else:
            body, received = received[:length], received[length:]
            assert len(body) == length, "an answer is cut off"
        kept = sorted(_in_order(*header) for header in headers if header[0] not in _VARIABLE_HEADERS)
        answers.append((line, kept, _comparable(body)))
    return answers


def statuses_of(answers: list[tuple[Any, ...]]) -> list[int]:
    return [int(line.split()[1]) for line, _, _ in answers]


def _in_order(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Return a header. The order of this policy is different in each process."""
    return name, b"; ".join(sorted(value.split(b"; "))) if name == b"content-security-policy" else value


def _dechunked(received: bytes) -> tuple[bytes, bytes]:
    """Return a body in chunks, and what follows it."""
    body = b""
    while True:
        size, _, received = received.partition(b"\r\n")
        length = int(size, 16)
        body, received = body + received[:length], received[length + 2 :]
        if not length:
            return body, received


def _comparable(body: bytes) -> Any:
    try:
        return _without_variables(json.loads(body))
    except ValueError:
        return re.sub(rb"[0-9a-f]{8}-[0-9a-f-]{27}", b"<id>", body)


def _without_variables(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "..." if name in _TIMES_AND_IDS else _without_variables(below)
            for name, below in value.items()
        }
    return [_without_variables(below) for below in value] if isinstance(value, list) else value
