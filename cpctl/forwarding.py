"""Forward CloudEvents as signed webhooks to an address of the developer's machine."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import ipaddress
import json
import secrets
import socket
import time
import urllib.error
import urllib.request
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from cpctl import VERSION
from cpctl.errors import UsageError

_PREFIX = "whsec_"
_SECRET_BYTES = 32
_SECONDS = 20.0
_TYPE_PREFIX = "dev.controlplane."


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one event. status: 0 without an answer; error: then why."""

    status: int
    milliseconds: int
    error: str = ""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def __str__(self) -> str:
        return f"{self.status or self.error} in {self.milliseconds} ms"


def new_secret() -> str:
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def key_of(secret: str) -> bytes:
    """Return the key of a secret of Standard Webhooks. Raises UsageError."""
    try:
        if not secret.startswith(_PREFIX):
            raise ValueError
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (Base64Error, ValueError) as error:
        message = f"The secret is not {_PREFIX} and its key in base64."
        raise UsageError(message, hint="omit --secret-file, and cpctl creates a secret") from error


def check_address(url: str, *, allow_remote: bool) -> None:
    """Raise UsageError unless events may be sent there: to this machine, or anywhere if that is allowed."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not an address. Use one such as http://localhost:3000/hook.")
    if not allow_remote and not _is_local(parts.hostname):
        message = f"{parts.hostname} is not this machine. Events can contain what others must not read."
        raise UsageError(message, hint="use http://localhost:PORT, or add --allow-remote")


def name_of(event: Mapping[str, Any]) -> str:
    """Return the type as the control plane names it: `agent.ready` of `dev.controlplane.agent.ready.v1`."""
    return str(event["type"]).removeprefix(_TYPE_PREFIX).rpartition(".v")[0]


def is_selected(name: str, types: Sequence[str]) -> bool:
    """Return whether one of the types is this name or its kind, such as `agent.*`; without types, true."""
    return not types or any(
        name.startswith(kind[:-1]) if kind.endswith("*") else name == kind for kind in types
    )


def signed_headers(body: bytes, key: bytes, *, message_id: str, timestamp: int) -> dict[str, str]:
    """Return the headers of Standard Webhooks 1.0.0. timestamp: of the attempt, in seconds."""
    content = b".".join((message_id.encode(), str(timestamp).encode(), body))
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
    }


class Forwarder:
    """Posts events to one address, once each."""

    def __init__(self, url: str, key: bytes) -> None:
        self._url, self._key = url, key
        # A proxy of the environment has another localhost.
        proxies: dict[str, str] | None = {} if _is_local(urlsplit(url).hostname or "") else None
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies), _NoRedirects)

    def forward(self, event: Mapping[str, Any]) -> Answer:
        """Post one CloudEvent in structured mode; never raises for what the receiver does."""
        body = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
        signed = signed_headers(body, self._key, message_id=str(event["id"]), timestamp=int(time.time()))
        headers = {"Content-Type": "application/cloudevents+json", "User-Agent": f"cpctl/{VERSION}", **signed}
        request = urllib.request.Request(self._url, body, headers, method="POST")  # noqa: S310  # checked
        began = time.monotonic()
        status, error = self._status(request)
        return Answer(status, round(1000 * (time.monotonic() - began)), error)

    def _status(self, request: urllib.request.Request) -> tuple[int, str]:
        try:
            with self._opener.open(request, timeout=_SECONDS) as response:
                return response.status, ""
        except urllib.error.HTTPError as error:
            error.close()
            return error.code, ""
        except (OSError, http.client.HTTPException) as error:
            return 0, f"failed ({getattr(error, 'reason', '') or error or type(error).__name__})"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is a failure, as for webhooks."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


def _is_local(host: str) -> bool:
    try:
        addresses: Sequence[Any] = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return all(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_loopback for entry in addresses)
