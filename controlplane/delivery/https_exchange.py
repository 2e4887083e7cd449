"""One request to a receiver: a pinned and checked address, a limit in time as a whole, no redirects."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.delivery.schedule import Answer, Result, result_of
from controlplane.errors import InvalidRequest, RemoteFailed
from controlplane.outgoing import EVERYWHERE, Target, allowed_networks, check_target

_CONNECT_SECONDS = 5.0
_MOST_READ = 64 * 1024
# What people get to see of it.
_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Exchange:
    """The answer to a request, with the beginning of its body. tls: version and cipher, or empty."""

    answer: Answer
    response: str = ""
    tls: str = ""
    # At most 64 KiB.
    body: bytes = b""


def exchange(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    seconds: float,
    method: str = "POST",
    any_address: bool = False,
) -> Exchange:
    """Make a request and return what came of it; never raises for what a receiver does.

    seconds: for everything. any_address: no user chose the host, so it may have a private address.
    """
    began = time.monotonic()
    try:
        target = check_target(url, EVERYWHERE if any_address else allowed_networks())
        status, retry_after, content, tls = _request(target, method, body, headers, began + seconds)
    except InvalidRequest as error:
        return Exchange(Answer(Result.ADDRESS_REFUSED, error=str(error)))
    except RemoteFailed as error:
        return Exchange(Answer(Result.CONNECTION, error=str(error)))
    except (OSError, http.client.HTTPException, ValueError) as error:
        milliseconds = round(1000 * (time.monotonic() - began))
        return Exchange(Answer(_result_of(error), error=_explain(error, seconds), milliseconds=milliseconds))
    result = result_of(status)
    error_text = "" if result is Result.DELIVERED else f"The receiver answered with {status}."
    milliseconds = round(1000 * (time.monotonic() - began))
    answer = Answer(result, status, retry_after, error_text, milliseconds)
    text = content[:_KEPT].decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return Exchange(answer, text, tls, content)


def _request(
    target: Target, method: str, body: bytes, headers: Mapping[str, str], deadline: float
) -> tuple[int, str, bytes, str]:
    sock = socket.create_connection((target.address, target.port), min(_CONNECT_SECONDS, _left(deadline)))
    try:
        if target.scheme == "https":
            sock.settimeout(_left(deadline))
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=target.host)
        connection = http.client.HTTPConnection(target.host, target.port)
        connection.sock = _TimedSocket(sock, deadline)
        connection.request(
            method, target.path, body, {**headers, "Host": _host(target), "Connection": "close"}
        )
        response = connection.getresponse()
        content = response.read(_MOST_READ)
        return response.status, response.headers.get("Retry-After", ""), content, _tls_of(sock)
    finally:
        sock.close()


def _tls_of(sock: socket.socket) -> str:
    """Return version and cipher of the connection; empty without TLS."""
    cipher = sock.cipher() if isinstance(sock, ssl.SSLSocket) else None
    return f"{cipher[1]} {cipher[0]}" if cipher else ""


class _TimedSocket:
    """A socket whose every read and write ends at one deadline, so that a slow drip is cut off."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def sendall(self, content: Any) -> None:
        self._sock.settimeout(_left(self._deadline))
        self._sock.sendall(content)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._sock, self._deadline))

    def close(self) -> None:
        """Do nothing: http.client closes it before the body is read, and `_request` closes the socket."""


class _TimedReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: float) -> None:
        super().__init__()
        self._sock, self._deadline = sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(_left(self._deadline))
        return self._sock.recv_into(buffer)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _host(target: Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port in (80, 443) else f"{host}:{target.port}"


def _result_of(error: Exception) -> Result:
    if isinstance(error, TimeoutError):
        return Result.TIMEOUT
    return Result.TLS if isinstance(error, ssl.SSLError) else Result.CONNECTION


def _explain(error: Exception, seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return f"The receiver did not answer within {seconds:g} s."
    if isinstance(error, ssl.SSLError):
        return f"The receiver's TLS certificate or handshake was refused: {error.reason or error}."
    return f"The connection to the receiver failed: {error or type(error).__name__}."
